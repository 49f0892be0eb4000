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
    -- How far the union of the earlier rows reaches, and in the lowest bit whether a
    -- kernel reaches so far: half the work of two running maxima.
    reached AS (
        SELECT
            *,
            max(2 * end_ns + is_kernel::BIGINT) OVER (
                PARTITION BY device_id
                ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS reach
        FROM activity
    ),
    busy AS (
        SELECT
            device_id,
            sum(greatest(end_ns - greatest(start_ns, reach >> 1), 0))::BIGINT
                AS gpu_busy_ns,
            bool_or(is_graph) AS kernel_is_lower_bound,
            -- The first row of a kind at a time at which both kinds run starts below
            -- one of the other kind, so these are the times with both.
            list(
                struct_pack(start_ns := start_ns, end_ns := least(end_ns, reach >> 1))
            ) FILTER (
                WHERE reach >> 1 > start_ns AND (reach & 1 = 1) <> is_kernel
            ) AS both_times
        FROM reached
        GROUP BY device_id
    ),
    -- Named in text below.
    both_time AS ( -- noqa: ST03
        SELECT
            shared.device_id AS key,
            shared.both_time.start_ns,
            shared.both_time.end_ns
        FROM (
            SELECT
                device_id,
                unnest(both_times) AS both_time
            FROM busy
        ) AS shared
    ),
    other_time AS ( -- noqa: ST03
        SELECT
            device_id AS key,
            start_ns,
            end_ns
        FROM activity
        WHERE NOT is_kernel
    ),
    both_busy AS (FROM covered('both_time')),
    other_busy AS (FROM covered('other_time')),
    unions AS (
        SELECT
            busy.device_id,
            busy.gpu_busy_ns,
            busy.kernel_is_lower_bound,
            busy.gpu_busy_ns + coalesce(both_busy.covered_ns, 0)
            - coalesce(other_busy.covered_ns, 0) AS kernel_busy_ns
        FROM busy
        LEFT JOIN both_busy ON busy.device_id = both_busy.key
        LEFT JOIN other_busy ON busy.device_id = other_busy.key
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
    coalesce(unions.kernel_busy_ns, 0) AS kernel_busy_ns,
    coalesce(unions.gpu_busy_ns, 0) AS gpu_busy_ns,
    coalesce(unions.kernel_busy_ns, 0) / nullif(lengths.window_ns, 0)
        AS kernel_utilization,
    coalesce(unions.gpu_busy_ns, 0) / nullif(lengths.window_ns, 0) AS gpu_utilization,
    coalesce(unions.kernel_is_lower_bound, FALSE) AS kernel_is_lower_bound
FROM lengths
LEFT JOIN unions ON lengths.device_id = unions.device_id
ORDER BY lengths.device_id ASC;
