-- gpu.summary: which operations take the GPU's time: kernels, copies, fills, graphs.
--
-- Times are summed over operations, so those that ran at once count twice;
-- gpu.utilization has wall time. A CUDA graph that was traced as a whole is one
-- operation, since its kernels are not known one by one. `nsys stats` leaves such
-- graphs out: this equals its cuda_gpu_sum with graph_launches = exclude and
-- limit = 0.
--
-- reads:
--   gpu_activity  rows
-- parameters:
--   limit           BIGINT = 20         Rows to return, 0 for all.
--   graph_launches  VARCHAR = include   One of include or exclude: whether graphs that
--                                       were traced as a whole count.
-- columns:
--   category    VARCHAR  CUDA_KERNEL, MEMORY_OPER or CUDA_GRAPH.
--   operation   VARCHAR  The kernel, the kind of copy, the fill or the graph.
--   count       BIGINT   Operations that were counted.
--   total_ns    BIGINT   Summed duration.
--   time_share  DOUBLE   total_ns over that of all operations, 0 to 1.
--   mean_ns     DOUBLE   Mean duration.
--   median_ns   DOUBLE   Median duration.
--   min_ns      BIGINT   Shortest duration.
--   max_ns      BIGINT   Longest duration.
--   stddev_ns   DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    timed AS (
        SELECT
            operation_category(activity) AS category,
            operation_name(activity, name) AS operation,
            end_ns - start_ns AS duration_ns
        FROM gpu_activity
        WHERE $graph_launches = 'include' OR activity <> 'graph_launch'
    ),
    per_operation AS (
        SELECT
            category,
            operation,
            count(*) AS count,
            sum(duration_ns)::BIGINT AS total_ns,
            avg(duration_ns) AS mean_ns,
            median(duration_ns) AS median_ns,
            min(duration_ns) AS min_ns,
            max(duration_ns) AS max_ns,
            coalesce(stddev_samp(duration_ns), 0) AS stddev_ns
        FROM timed
        GROUP BY category, operation
    )

SELECT
    category,
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
ORDER BY total_ns DESC, category ASC, operation ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
