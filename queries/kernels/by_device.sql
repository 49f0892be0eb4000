-- kernels.by_device: which kernels take the time of each GPU.
--
-- Times are summed over executions, so kernels that ran at once count twice;
-- gpu.utilization has wall time.
--
-- reads:
--   kernel  rows
-- parameters:
--   limit  BIGINT = 20           Kernels to return of each device, 0 for all.
--   names  VARCHAR = recorded    One of recorded, canonical or short: how kernels
--                                are told apart.
-- columns:
--   device_id    INTEGER  The device, as in the device table.
--   kernel_name  VARCHAR  The kernel.
--   launches     BIGINT   Executions that were counted.
--   total_ns     BIGINT   Summed duration.
--   time_share   DOUBLE   total_ns over that of all kernels of the device, 0 to 1.
--   mean_ns      DOUBLE   Mean duration.
--   median_ns    DOUBLE   Median duration.
--   min_ns       BIGINT   Shortest duration.
--   max_ns       BIGINT   Longest duration.
--   stddev_ns    DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    named AS (
        SELECT
            device_id,
            end_ns - start_ns AS duration_ns,
            CASE $names
                WHEN 'canonical' THEN canonical_name
                WHEN 'short' THEN short_name
                ELSE name
            END AS kernel_name
        FROM kernel
    ),
    per_name AS (
        SELECT
            device_id,
            kernel_name,
            count(*) AS launches,
            sum(duration_ns)::BIGINT AS total_ns,
            avg(duration_ns) AS mean_ns,
            median(duration_ns) AS median_ns,
            min(duration_ns) AS min_ns,
            max(duration_ns) AS max_ns,
            coalesce(stddev_samp(duration_ns), 0) AS stddev_ns
        FROM named
        GROUP BY device_id, kernel_name
    ),
    ranked AS (
        SELECT
            *,
            total_ns / sum(total_ns) OVER (PARTITION BY device_id) AS time_share,
            row_number() OVER (
                PARTITION BY device_id
                ORDER BY total_ns DESC, kernel_name ASC
            ) AS place
        FROM per_name
    )

SELECT
    device_id,
    kernel_name,
    launches,
    total_ns,
    time_share,
    mean_ns,
    median_ns,
    min_ns,
    max_ns,
    stddev_ns
FROM ranked
WHERE $limit = 0 OR place <= $limit
ORDER BY device_id ASC, place ASC;
