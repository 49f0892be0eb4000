-- copies.by_time: how long copies and fills take, by kind.
--
-- Times are summed over operations, so copies that ran at once count twice. Migrations
-- of unified memory are copies of the kinds `Unified ...`. Equals `nsys stats`
-- cuda_gpu_mem_time_sum.
--
-- reads:
--   memcpy  rows
--   memset  rows
-- columns:
--   operation   VARCHAR  The kind of copy, or the fill.
--   count       BIGINT   Operations that were counted.
--   total_ns    BIGINT   Summed duration.
--   time_share  DOUBLE   total_ns over that of all copies and fills, 0 to 1.
--   mean_ns     DOUBLE   Mean duration.
--   median_ns   DOUBLE   Median duration.
--   min_ns      BIGINT   Shortest duration.
--   max_ns      BIGINT   Longest duration.
--   stddev_ns   DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    timed AS (
        SELECT
            operation_name('memcpy', copy_kind) AS operation,
            end_ns - start_ns AS duration_ns
        FROM memcpy
        UNION ALL
        SELECT
            operation_name('memset', memory_kind) AS operation,
            end_ns - start_ns AS duration_ns
        FROM memset
    ),
    per_operation AS (
        SELECT
            operation,
            count(*) AS count,
            sum(duration_ns)::BIGINT AS total_ns,
            avg(duration_ns) AS mean_ns,
            median(duration_ns) AS median_ns,
            min(duration_ns) AS min_ns,
            max(duration_ns) AS max_ns,
            coalesce(stddev_samp(duration_ns), 0) AS stddev_ns
        FROM timed
        GROUP BY operation
    )

SELECT
    operation,
    count,
    total_ns,
    total_ns / sum(total_ns) OVER () AS time_share,
    mean_ns,
    median_ns,
    min_ns,
    max_ns,
    stddev_ns
FROM per_operation
ORDER BY total_ns DESC, operation ASC;
