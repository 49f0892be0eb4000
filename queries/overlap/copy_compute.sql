-- overlap.copy_compute: how much of the copying runs while kernels run.
--
-- Time of copies is the length of their union, for each kind and for all together
-- (operation NULL). What kernels do not hide is exposed: overlapped and exposed add up
-- to the total. A CUDA graph that was traced as a whole is no kernel here, so with
-- graphs the overlap is a lower bound.
--
-- reads:
--   gpu_activity  clip
-- needs:
--   memcpy
-- columns:
--   device_id              INTEGER  The device, as in the device table.
--   operation              VARCHAR  The kind of copy; NULL for all together.
--   copies                 BIGINT   Copies that were counted.
--   copy_ns                BIGINT   Time in which such a copy ran.
--   overlapped_ns          BIGINT   Of it, time in which a kernel ran.
--   exposed_ns             BIGINT   The rest.
--   overlapped_share       DOUBLE   overlapped_ns over copy_ns, 0 to 1.
--   kernel_is_lower_bound  BOOLEAN  Whether graphs hide kernels.

WITH
    copy AS (
        SELECT
            device_id,
            operation_name(activity, name) AS operation,
            start_ns,
            end_ns
        FROM gpu_activity
        WHERE activity = 'memcpy'
    ),
    sorted AS (
        SELECT
            (device_id, operation) AS key,
            start_ns,
            end_ns
        FROM copy
        UNION ALL
        SELECT
            (device_id, NULL::VARCHAR) AS key,
            start_ns,
            end_ns
        FROM copy
    ),
    united AS (
        SELECT
            key[1] AS device_id,
            key[2] AS operation,
            start_ns,
            end_ns
        FROM merged('sorted')
    ),
    kernels AS (
        SELECT
            device_id AS key,
            0 AS layer,
            start_ns,
            end_ns
        FROM gpu_activity
        WHERE activity = 'kernel'
    ),
    edge AS (
        SELECT
            device_id AS key,
            unnest([start_ns, end_ns]) AS time_ns
        FROM united
    ),
    computed AS (
        SELECT *
        FROM covered_before('kernels', 'edge')
    ),
    times AS (
        SELECT
            united.device_id,
            united.operation,
            sum(united.end_ns - united.start_ns)::BIGINT AS copy_ns,
            sum(at_end.covered_ns - at_start.covered_ns)::BIGINT AS overlapped_ns
        FROM united
        INNER JOIN computed AS at_start
            ON
                united.device_id = at_start.key
                AND united.start_ns = at_start.time_ns
        INNER JOIN computed AS at_end
            ON united.device_id = at_end.key AND united.end_ns = at_end.time_ns
        GROUP BY united.device_id, united.operation
    ),
    counted AS (
        SELECT
            device_id,
            operation,
            count(*) AS copies
        FROM copy
        GROUP BY GROUPING SETS ((device_id, operation), (device_id))
    ),
    hidden AS (
        SELECT
            device_id,
            bool_or(activity = 'graph_launch') AS by_graphs
        FROM gpu_activity
        GROUP BY device_id
    )

SELECT
    times.device_id,
    times.operation,
    counted.copies,
    times.copy_ns,
    times.overlapped_ns,
    times.copy_ns - times.overlapped_ns AS exposed_ns,
    times.overlapped_ns / nullif(times.copy_ns, 0) AS overlapped_share,
    hidden.by_graphs AS kernel_is_lower_bound
FROM times
INNER JOIN counted
    ON
        times.device_id = counted.device_id
        AND times.operation IS NOT DISTINCT FROM counted.operation
INNER JOIN hidden ON times.device_id = hidden.device_id
ORDER BY times.device_id ASC, times.copy_ns DESC, times.operation ASC NULLS FIRST;
