-- gpu.idle_attribution: why a GPU did not compute; the causes add up.
--
-- Not computing is the time of the window in which no kernel ran. Time under a copy or
-- a fill is `copy`. Each other instant belongs to the activity that begins next on the
-- device (of several that begin at once the longest), and to the first that holds:
-- what the profiler itself cost covers it; the thread that launches that activity is
-- inside a synchronize call; the launch call is running; it has not begun; it has
-- returned, so the activity waits for other work; its call was not recorded, or no
-- activity follows. Where CUDA graphs were traced as a whole their kernels are not
-- known, so such a device's time is that in which nothing at all ran, and its copies
-- count as work. An activity of length 0 launches nothing here and parts no time.
--
-- `each=step` has a row for each training step on each device that its process used,
-- and takes the steps that begin in the window, whole. `--window range:NAME` asks for
-- the time inside of a range.
--
-- reads:
--   user_process  rows
--   gpu_activity  clip
--   stable_step   rows
--   launch        lookup
--   api_call      lookup
--   overhead      lookup
--   time_window   lookup
-- needs:
--   gpu_activity
-- parameters:
--   each  VARCHAR = device   One of device or step: what has a row of its own.
-- columns:
--   device_id            INTEGER  The device, as in the device table.
--   process_id           INTEGER  Process of the step, as in the process table.
--   step_index           BIGINT   Number of the step; NULL for a device.
--   window_ns            BIGINT   Length of the window or of the step.
--   not_computing_ns     BIGINT   Time in which no kernel ran, which the rest adds up
--                                 to.
--   copy_ns              BIGINT   A copy or a fill ran.
--   capture_artifact_ns  BIGINT   Of the rest, the profiler was at work.
--   synchronization_ns   BIGINT   Of the rest, the launching thread waited for the GPU.
--   launch_in_flight_ns  BIGINT   Of the rest, the launch call was running.
--   host_late_ns         BIGINT   Of the rest, the launch call had not begun.
--   dependency_ns        BIGINT   Of the rest, the launch call had returned.
--   unknown_ns           BIGINT   The rest: no launch call was recorded.
--   graphs_are_work      BOOLEAN  Whether graphs hide kernels, and copies are work.

WITH
    owned AS (
        SELECT
            device_id,
            coalesce(process_id, -1) AS owner
        FROM user_process
    ),
    -- A row of the answer is one or more of these; those of a lane do not overlap.
    span AS (
        SELECT
            device_id,
            -1 AS lane,
            NULL::INTEGER AS process_id,
            NULL::BIGINT AS step_index,
            start_ns,
            end_ns
        FROM time_window
        WHERE $each = 'device'
        UNION ALL
        SELECT
            owned.device_id,
            owned.owner AS lane,
            stable_step.process_id,
            stable_step.step_index,
            stable_step.start_ns,
            stable_step.end_ns
        FROM stable_step
        INNER JOIN owned
            ON coalesce(stable_step.process_id, -1) = owned.owner
        WHERE $each = 'step'
    ),
    lane AS (
        SELECT
            device_id,
            lane,
            min(start_ns) AS first_ns,
            max(end_ns) AS last_ns
        FROM span
        GROUP BY device_id, lane
    ),
    reach AS (
        SELECT
            device_id,
            min(first_ns) AS first_ns,
            max(last_ns) AS last_ns
        FROM lane
        GROUP BY device_id
    ),
    activity AS (
        SELECT
            launch.device_id,
            coalesce(launch.process_id, -1) AS owner,
            launch.correlation_id,
            launch.start_ns,
            launch.end_ns,
            launch.thread_id,
            launch.call_start_ns,
            launch.call_end_ns
        FROM launch
        SEMI JOIN owned
            ON
                launch.device_id = owned.device_id
                AND coalesce(launch.process_id, -1) = owned.owner
        WHERE launch.end_ns > launch.start_ns
    ),
    -- The same without the calls, which are dear: where they are not needed.
    ran AS NOT MATERIALIZED (
        SELECT
            work.device_id,
            work.activity,
            work.start_ns,
            work.end_ns
        FROM recorded.gpu_activity AS work
        SEMI JOIN owned
            ON
                work.device_id = owned.device_id
                AND coalesce(work.process_id, -1) = owned.owner
        WHERE work.end_ns > work.start_ns
    ),
    reached AS (
        SELECT
            device_id,
            owner,
            thread_id,
            start_ns,
            call_start_ns,
            call_end_ns,
            max(end_ns) OVER (
                PARTITION BY device_id
                ORDER BY
                    start_ns ASC, end_ns DESC, correlation_id ASC, owner ASC
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS covered_to
        FROM activity
    ),
    gap AS (
        SELECT
            reached.device_id,
            reached.owner,
            reached.thread_id,
            reached.call_start_ns,
            reached.call_end_ns,
            coalesce(reached.covered_to, reach.first_ns) AS start_ns,
            reached.start_ns AS end_ns
        FROM reached
        INNER JOIN reach ON reached.device_id = reach.device_id
        WHERE reached.start_ns > coalesce(reached.covered_to, reach.first_ns)
        UNION ALL
        -- What follows the last activity.
        SELECT
            reach.device_id,
            NULL AS owner,
            NULL AS thread_id,
            NULL AS call_start_ns,
            NULL AS call_end_ns,
            coalesce(max(ran.end_ns), reach.first_ns) AS start_ns,
            reach.last_ns AS end_ns
        FROM reach
        LEFT JOIN ran ON reach.device_id = ran.device_id
        GROUP BY reach.device_id, reach.first_ns, reach.last_ns
        HAVING coalesce(max(ran.end_ns), reach.first_ns) < reach.last_ns
    ),
    launcher AS (
        SELECT DISTINCT
            device_id,
            owner,
            thread_id
        FROM gap
    ),
    -- Whose launch calls a GPU waits for: a key for each thread that launches next.
    waiter AS (
        SELECT
            lane.device_id,
            lane.lane,
            lane.first_ns,
            lane.last_ns,
            launcher.owner,
            launcher.thread_id,
            row_number() OVER (
                ORDER BY lane.device_id, lane.lane, launcher.owner, launcher.thread_id
            ) AS key
        FROM lane
        INNER JOIN launcher ON lane.device_id = launcher.device_id
    ),
    waiting AS (
        SELECT
            waiter.key,
            waiter.first_ns,
            gap.start_ns,
            gap.end_ns,
            gap.call_start_ns,
            gap.call_end_ns
        FROM gap
        INNER JOIN waiter
            ON
                gap.device_id = waiter.device_id
                AND gap.owner IS NOT DISTINCT FROM waiter.owner
                AND gap.thread_id IS NOT DISTINCT FROM waiter.thread_id
        UNION ALL
        SELECT
            key,
            first_ns,
            last_ns AS start_ns,
            last_ns AS end_ns,
            NULL AS call_start_ns,
            NULL AS call_end_ns
        FROM waiter
    ),
    -- Layer 0 is all time in which the GPU does not wait for this thread.
    share AS (
        SELECT
            key,
            call_start_ns,
            unnest([0, 3, 4, CASE WHEN call_start_ns IS NULL THEN 6 ELSE 5 END])
                AS layer,
            unnest([
                lag(end_ns, 1, first_ns)
                    OVER (PARTITION BY key ORDER BY start_ns, end_ns),
                greatest(start_ns, call_start_ns),
                start_ns,
                start_ns
            ]) AS start_ns,
            unnest([
                start_ns,
                least(end_ns, call_end_ns),
                least(end_ns, call_start_ns),
                end_ns
            ]) AS end_ns
        FROM waiting
    ),
    cause AS (
        SELECT
            key,
            layer,
            start_ns,
            end_ns
        FROM share
        WHERE
            end_ns > start_ns
            AND (call_start_ns IS NOT NULL OR layer NOT IN (3, 4))
        UNION ALL
        SELECT
            waiter.key,
            1 AS layer,
            overhead.start_ns,
            overhead.end_ns
        FROM overhead
        INNER JOIN owned
            ON coalesce(overhead.process_id, -1) = owned.owner
        INNER JOIN waiter ON owned.device_id = waiter.device_id
        UNION ALL
        SELECT
            waiter.key,
            2 AS layer,
            api_call.start_ns,
            api_call.end_ns
        FROM api_call
        INNER JOIN waiter
            ON
                coalesce(api_call.process_id, -1) = waiter.owner
                AND api_call.thread_id = waiter.thread_id
        WHERE
            is_synchronize_call(api_call.name)
            AND api_call.domain IS DISTINCT FROM 'backtrace'
    ),
    cause_cut AS (
        SELECT
            waiter.key,
            unnest([span.start_ns, span.end_ns]) AS time_ns
        FROM waiter
        INNER JOIN span
            ON waiter.device_id = span.device_id AND waiter.lane = span.lane
    ),
    work AS (
        SELECT
            (lane.device_id, lane.lane) AS key,
            CASE ran.activity
                WHEN 'kernel' THEN 0
                WHEN 'graph_launch' THEN 1
                ELSE 2
            END AS layer,
            ran.start_ns,
            ran.end_ns
        FROM ran
        INNER JOIN lane ON ran.device_id = lane.device_id
    ),
    work_cut AS (
        SELECT
            (device_id, lane) AS key,
            unnest([start_ns, end_ns]) AS time_ns
        FROM span
    ),
    part AS (
        SELECT
            waiter.device_id,
            waiter.lane,
            caused.start_ns,
            caused.end_ns,
            0 AS window_ns,
            0 AS kernel_ns,
            0 AS graph_ns,
            0 AS copy_ns,
            caused.layer_1_ns AS artifact_ns,
            caused.layer_2_ns AS synchronization_ns,
            caused.layer_3_ns AS in_flight_ns,
            caused.layer_4_ns AS late_ns,
            caused.layer_5_ns AS dependency_ns,
            caused.layer_6_ns AS unknown_ns
        FROM cover('cause', 'cause_cut') AS caused
        INNER JOIN waiter ON caused.key = waiter.key
        UNION ALL
        SELECT
            key[1] AS device_id,
            key[2] AS lane,
            start_ns,
            end_ns,
            end_ns - start_ns AS window_ns,
            layer_0_ns AS kernel_ns,
            layer_1_ns AS graph_ns,
            layer_2_ns AS copy_ns,
            0 AS artifact_ns,
            0 AS synchronization_ns,
            0 AS in_flight_ns,
            0 AS late_ns,
            0 AS dependency_ns,
            0 AS unknown_ns
        FROM cover('work', 'work_cut')
    ),
    total AS (
        SELECT
            span.device_id,
            span.process_id,
            span.step_index,
            CASE WHEN $each = 'step' THEN span.start_ns END AS step_start_ns,
            coalesce(sum(part.window_ns), 0)::BIGINT AS window_ns,
            coalesce(sum(part.kernel_ns), 0)::BIGINT AS kernel_ns,
            coalesce(sum(part.graph_ns), 0)::BIGINT AS graph_ns,
            coalesce(sum(part.copy_ns), 0)::BIGINT AS copy_ns,
            coalesce(sum(part.artifact_ns), 0)::BIGINT AS artifact_ns,
            coalesce(sum(part.synchronization_ns), 0)::BIGINT AS synchronization_ns,
            coalesce(sum(part.in_flight_ns), 0)::BIGINT AS in_flight_ns,
            coalesce(sum(part.late_ns), 0)::BIGINT AS late_ns,
            coalesce(sum(part.dependency_ns), 0)::BIGINT AS dependency_ns,
            coalesce(sum(part.unknown_ns), 0)::BIGINT AS unknown_ns
        FROM span
        LEFT JOIN part
            ON
                span.device_id = part.device_id
                AND span.lane = part.lane
                AND span.start_ns = part.start_ns
                AND span.end_ns = part.end_ns
        GROUP BY span.device_id, span.process_id, span.step_index, step_start_ns
    ),
    hidden AS (
        SELECT
            device_id,
            bool_or(activity = 'graph_launch') AS by_graphs
        FROM gpu_activity
        GROUP BY device_id
    )

SELECT
    total.device_id,
    total.process_id,
    total.step_index,
    total.window_ns,
    total.window_ns - total.kernel_ns
    - CASE WHEN hidden.by_graphs THEN total.graph_ns + total.copy_ns ELSE 0 END
        AS not_computing_ns,
    CASE WHEN hidden.by_graphs THEN 0 ELSE total.copy_ns END AS copy_ns,
    total.artifact_ns AS capture_artifact_ns,
    total.synchronization_ns,
    total.in_flight_ns AS launch_in_flight_ns,
    total.late_ns AS host_late_ns,
    total.dependency_ns,
    total.unknown_ns,
    coalesce(hidden.by_graphs, FALSE) AS graphs_are_work
FROM total
LEFT JOIN hidden ON total.device_id = hidden.device_id
ORDER BY
    total.step_start_ns ASC, total.process_id ASC, total.device_id ASC,
    total.step_index ASC;
