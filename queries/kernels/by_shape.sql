-- kernels.by_shape: which kernels, at which grid and block, take the GPU's time.
--
-- A kernel that is launched with several shapes has a row for each. Times are summed
-- over executions, so kernels that ran at once count twice. Equals `nsys stats`
-- cuda_gpu_kern_gb_sum with names = recorded and limit = 0.
--
-- reads:
--   kernel  rows
-- parameters:
--   limit  BIGINT = 20           Rows to return, 0 for all.
--   names  VARCHAR = recorded    One of recorded, canonical or short: how kernels
--                                are told apart.
-- columns:
--   kernel_name  VARCHAR  The kernel.
--   grid_x       INTEGER  Thread blocks in x.
--   grid_y       INTEGER  Thread blocks in y.
--   grid_z       INTEGER  Thread blocks in z.
--   block_x      INTEGER  Threads of a block in x.
--   block_y      INTEGER  Threads of a block in y.
--   block_z      INTEGER  Threads of a block in z.
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
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            end_ns - start_ns AS duration_ns,
            CASE $names
                WHEN 'canonical' THEN canonical_name
                WHEN 'short' THEN short_name
                ELSE name
            END AS kernel_name
        FROM kernel
    ),
    per_shape AS (
        SELECT
            kernel_name,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            count(*) AS launches,
            sum(duration_ns)::BIGINT AS total_ns,
            avg(duration_ns) AS mean_ns,
            median(duration_ns) AS median_ns,
            min(duration_ns) AS min_ns,
            max(duration_ns) AS max_ns,
            coalesce(stddev_samp(duration_ns), 0) AS stddev_ns
        FROM named
        GROUP BY kernel_name, grid_x, grid_y, grid_z, block_x, block_y, block_z
    )

SELECT
    kernel_name,
    grid_x,
    grid_y,
    grid_z,
    block_x,
    block_y,
    block_z,
    launches,
    total_ns,
    total_ns / sum(total_ns) OVER () AS time_share,
    mean_ns,
    median_ns,
    min_ns,
    max_ns,
    stddev_ns
FROM per_shape
ORDER BY
    total_ns DESC, kernel_name ASC, grid_x ASC, grid_y ASC, grid_z ASC, block_x ASC,
    block_y ASC, block_z ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
