-- gpu.utilization: how much of the time each GPU was busy.
--
-- Busy time is the length of the union of intervals, never a sum of durations, so a
-- utilization never exceeds 1. A CUDA graph that was traced as a whole counts in
-- gpu_busy_ns alone: its kernels are not known one by one, so kernel_busy_ns is then a
-- lower bound and gpu_utilization is the figure to quote.
--
-- reads:
--   gpu_activity  clip
--   time_window   lookup
-- columns:
--   device_id              INTEGER  The device, as in the device table.
--   window_ns              BIGINT   Length of the window.
--   kernel_busy_ns         BIGINT   Time in which a kernel ran.
--   gpu_busy_ns            BIGINT   Time in which a kernel, a copy, a fill or a graph
--                                   ran.
--   kernel_utilization     DOUBLE   kernel_busy_ns over window_ns, 0 to 1.
--   gpu_utilization        DOUBLE   gpu_busy_ns over window_ns, 0 to 1.
--   kernel_is_lower_bound  BOOLEAN  Whether graphs hide kernels.

WITH
    activity AS (
        SELECT
            device_id AS key,
            start_ns,
            end_ns,
            activity
        FROM gpu_activity
    ),
    kernels AS (
        FROM activity
        WHERE activity = 'kernel'
    ),
    graphs AS (
        SELECT DISTINCT key
        FROM activity
        WHERE activity = 'graph_launch'
    ),
    lengths AS (
        SELECT
            device_id,
            sum(end_ns - start_ns)::BIGINT AS window_ns
        FROM time_window
        GROUP BY device_id
    )

SELECT
    lengths.device_id,
    lengths.window_ns,
    coalesce(kernel_time.covered_ns, 0) AS kernel_busy_ns,
    coalesce(gpu_time.covered_ns, 0) AS gpu_busy_ns,
    coalesce(kernel_time.covered_ns, 0) / nullif(lengths.window_ns, 0)
        AS kernel_utilization,
    coalesce(gpu_time.covered_ns, 0) / nullif(lengths.window_ns, 0)
        AS gpu_utilization,
    graphs.key IS NOT NULL AS kernel_is_lower_bound
FROM lengths
LEFT JOIN covered('kernels') AS kernel_time
    ON lengths.device_id = kernel_time.key
LEFT JOIN covered('activity') AS gpu_time
    ON lengths.device_id = gpu_time.key
LEFT JOIN graphs ON lengths.device_id = graphs.key
ORDER BY lengths.device_id ASC;
