-- api.gpu_summary: which API calls and which operations of the GPU take the most time.
--
-- Calls and operations run side by side, so the shares are of the summed durations and
-- not of a time that passed. --device limits the operations and not the calls, which
-- belong to no device. What is left out, and why, is as in api.summary and
-- gpu.summary: this equals `nsys stats` cuda_api_gpu_sum with graph_launches = exclude
-- and limit = 0, for a capture without backtraces.
--
-- reads:
--   api_call      rows
--   gpu_activity  rows
-- parameters:
--   limit           BIGINT = 20         Rows to return, 0 for all.
--   backtraces      VARCHAR = exclude   One of exclude or include: whether rows of
--                                       domain backtrace count.
--   graph_launches  VARCHAR = include   One of include or exclude: whether graphs that
--                                       were traced as a whole count.
-- columns:
--   category    VARCHAR  CUDA_API, CUDA_KERNEL, MEMORY_OPER or CUDA_GRAPH.
--   operation   VARCHAR  The function, kernel, kind of copy, fill or graph.
--   count       BIGINT   Calls or operations that were counted.
--   total_ns    BIGINT   Summed duration.
--   time_share  DOUBLE   total_ns over that of all calls and operations, 0 to 1.
--   mean_ns     DOUBLE   Mean duration.
--   median_ns   DOUBLE   Median duration.
--   min_ns      BIGINT   Shortest duration.
--   max_ns      BIGINT   Longest duration.
--   stddev_ns   DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    timed AS (
        SELECT
            'CUDA_API' AS category,
            name AS operation,
            end_ns - start_ns AS duration_ns
        FROM api_call
        WHERE $backtraces = 'include' OR domain IS DISTINCT FROM 'backtrace'
        UNION ALL
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
