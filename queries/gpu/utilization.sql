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
            device_id,
            start_ns,
            end_ns,
            activity = 'kernel' AS is_kernel,
            activity = 'graph_launch' AS is_graph
        FROM gpu_activity
    ),
    -- How far the unions over the earlier rows reach, both in one sort: `covered`
    -- would sort twice.
    reached AS (
        SELECT
            *,
            max(end_ns) OVER earlier AS gpu_to,
            max(end_ns) FILTER (WHERE is_kernel) OVER earlier AS kernel_to
        FROM activity
        WINDOW
            earlier AS (
                PARTITION BY device_id
                ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )
    ),
    busy AS (
        SELECT
            device_id,
            sum(greatest(end_ns - greatest(start_ns, coalesce(gpu_to, start_ns)), 0))
            ::BIGINT AS gpu_busy_ns,
            coalesce(
                sum(
                    greatest(
                        end_ns - greatest(start_ns, coalesce(kernel_to, start_ns)), 0
                    )
                ) FILTER (WHERE is_kernel),
                0
            )::BIGINT AS kernel_busy_ns,
            bool_or(is_graph) AS kernel_is_lower_bound
        FROM reached
        GROUP BY device_id
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
    coalesce(busy.kernel_busy_ns, 0) AS kernel_busy_ns,
    coalesce(busy.gpu_busy_ns, 0) AS gpu_busy_ns,
    coalesce(busy.kernel_busy_ns, 0) / nullif(lengths.window_ns, 0)
        AS kernel_utilization,
    coalesce(busy.gpu_busy_ns, 0) / nullif(lengths.window_ns, 0) AS gpu_utilization,
    coalesce(busy.kernel_is_lower_bound, FALSE) AS kernel_is_lower_bound
FROM lengths
LEFT JOIN busy ON lengths.device_id = busy.device_id
ORDER BY lengths.device_id ASC;
