-- kernels.hotspots: which kernels take the GPU's time.
--
-- Times are summed over executions, so kernels that ran at once count twice;
-- gpu.utilization has wall time. Kernels inside of CUDA graphs that were traced as a
-- whole are not known one by one. Equals `nsys stats` cuda_gpu_kern_sum with
-- names = recorded and limit = 0.
--
-- reads:
--   kernel  rows
-- parameters:
--   limit  BIGINT = 20           Rows to return, 0 for all.
--   names  VARCHAR = recorded    One of recorded, canonical or short: how kernels
--                                are told apart.
-- columns:
--   kernel_name  VARCHAR  The kernel.
--   launches     BIGINT   Executions that were counted.
--   total_ns     BIGINT   Summed duration.
--   time_share   DOUBLE   total_ns over that of all kernels, 0 to 1.
--   mean_ns      DOUBLE   Mean duration.
--   median_ns    DOUBLE   Median duration.
--   min_ns       BIGINT   Shortest duration.
--   max_ns       BIGINT   Longest duration.
--   stddev_ns    DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    named AS (
        SELECT
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
            kernel_name,
            count(*) AS launches,
            sum(duration_ns)::BIGINT AS total_ns,
            avg(duration_ns) AS mean_ns,
            median(duration_ns) AS median_ns,
            min(duration_ns) AS min_ns,
            max(duration_ns) AS max_ns,
            coalesce(stddev_samp(duration_ns), 0) AS stddev_ns
        FROM named
        GROUP BY kernel_name
    )

SELECT
    kernel_name,
    launches,
    total_ns,
    total_ns / sum(total_ns) OVER () AS time_share,
    mean_ns,
    median_ns,
    min_ns,
    max_ns,
    stddev_ns
FROM per_name
ORDER BY total_ns DESC, kernel_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
