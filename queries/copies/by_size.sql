-- copies.by_size: how many bytes are copied and filled, by kind.
--
-- Migrations of unified memory are copies of the kinds `Unified ...`. Equals
-- `nsys stats` cuda_gpu_mem_size_sum, which prints MB of 10^6 bytes.
--
-- reads:
--   memcpy  rows
--   memset  rows
-- columns:
--   operation     VARCHAR  The kind of copy, or the fill.
--   count         BIGINT   Operations that were counted.
--   total_bytes   BIGINT   Summed size.
--   mean_bytes    DOUBLE   Mean size.
--   median_bytes  DOUBLE   Median size.
--   min_bytes     BIGINT   Smallest size.
--   max_bytes     BIGINT   Largest size.
--   stddev_bytes  DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    sized AS (
        SELECT
            operation_name('memcpy', copy_kind) AS operation,
            bytes
        FROM memcpy
        UNION ALL
        SELECT
            operation_name('memset', memory_kind) AS operation,
            bytes
        FROM memset
    )

SELECT
    operation,
    count(*) AS count,
    sum(bytes)::BIGINT AS total_bytes,
    avg(bytes) AS mean_bytes,
    median(bytes) AS median_bytes,
    min(bytes) AS min_bytes,
    max(bytes) AS max_bytes,
    CASE
        WHEN count(bytes) > 0 THEN coalesce(stddev_samp(bytes), 0)
    END AS stddev_bytes
FROM sized
GROUP BY operation
ORDER BY total_bytes DESC, operation ASC;
