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
    activity AS NOT MATERIALIZED (
        SELECT
            launch.device_id,
            lane.lane,
            coalesce(launch.process_id, -1) AS owner,
            launch.correlation_id,
            CASE launch.activity
                WHEN 'kernel' THEN 0
                WHEN 'graph_launch' THEN 1
                ELSE 2
            END AS layer,
            launch.start_ns,
            launch.end_ns,
            launch.thread_id,
            launch.call_start_ns,
            launch.call_end_ns
        FROM launch
        INNER JOIN lane ON launch.device_id = lane.device_id
        SEMI JOIN owned
            ON
                launch.device_id = owned.device_id
                AND coalesce(launch.process_id, -1) = owned.owner
        WHERE launch.end_ns > launch.start_ns
    ),
    profiler AS (
        SELECT
            owned.device_id,
            overhead.start_ns,
            overhead.end_ns
        FROM overhead
        INNER JOIN owned
            ON coalesce(overhead.process_id, -1) = owned.owner
    ),
    synchronization AS (
        SELECT
            coalesce(process_id, -1) AS owner,
            thread_id,
            start_ns,
            end_ns
        FROM api_call
        WHERE is_synchronize_call(name) AND domain IS DISTINCT FROM 'backtrace'
    ),
    -- Layer -1 is an edge of a span, layer -2 what may be a cause other than a launch
    -- call.
    placed AS NOT MATERIALIZED (
        FROM activity
        UNION ALL BY NAME
        SELECT
            span.device_id,
            span.lane,
            -1 AS layer,
            unnest([span.start_ns, span.end_ns]) AS start_ns
        FROM span
        UNION ALL BY NAME
        SELECT
            lane.device_id,
            lane.lane,
            -2 AS layer,
            profiler.start_ns,
            profiler.end_ns
        FROM profiler
        INNER JOIN lane ON profiler.device_id = lane.device_id
        UNION ALL BY NAME
        SELECT
            lane.device_id,
            lane.lane,
            -2 AS layer,
            synchronization.start_ns,
            synchronization.end_ns
        FROM synchronization
        INNER JOIN owned ON synchronization.owner = owned.owner
        INNER JOIN lane ON owned.device_id = lane.device_id
    ),
    -- How far the unions of the earlier rows reach: of kernels, of these and graphs, of
    -- all activities, and of other causes. One sort does it all.
    reached AS (
        SELECT
            *,
            CASE
                WHEN layer = -1 THEN start_ns
                ELSE max(start_ns) FILTER (WHERE layer = -1) OVER earlier
            END AS cut_ns,
            max(end_ns) FILTER (WHERE layer = 0) OVER earlier AS to_0,
            max(end_ns) FILTER (WHERE layer BETWEEN 0 AND 1) OVER earlier AS to_1,
            max(end_ns) FILTER (WHERE layer >= 0) OVER earlier AS to_2,
            max(end_ns) FILTER (WHERE layer = -2) OVER earlier AS caused_to
        FROM placed
        WINDOW
            earlier AS (
                PARTITION BY device_id, lane
                ORDER BY
                    start_ns ASC, end_ns DESC, correlation_id ASC, owner ASC
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )
    ),
    -- A gap is what lies before an activity since the last one ended. One that lies in
    -- one span, and in which there is no other cause, is parted by its launch call; the
    -- others are few, and parted below.
    measured AS NOT MATERIALIZED (
        SELECT
            reached.*,
            coalesce(reached.to_2, lane.first_ns) AS idle_from_ns,
            reached.layer >= 0
            AND reached.start_ns > coalesce(reached.to_2, lane.first_ns) AS has_gap,
            coalesce(
                greatest(reached.cut_ns, reached.caused_to)
                <= coalesce(reached.to_2, lane.first_ns),
                TRUE
            ) AS is_plain
        FROM reached
        INNER JOIN lane
            ON reached.device_id = lane.device_id AND reached.lane = lane.lane
    ),
    between_cuts AS (
        SELECT
            device_id,
            lane,
            cut_ns,
            max(end_ns) FILTER (WHERE layer >= 0) AS last_ns,
            max(CASE WHEN layer = -1 THEN greatest(to_0 - start_ns, 0) END)
                AS beyond_0,
            max(CASE WHEN layer = -1 THEN greatest(to_1 - start_ns, 0) END)
                AS beyond_1,
            max(CASE WHEN layer = -1 THEN greatest(to_2 - start_ns, 0) END)
                AS beyond_2,
            sum(added(start_ns, end_ns, to_0)) FILTER (WHERE layer = 0) AS added_0,
            sum(added(start_ns, end_ns, to_1)) FILTER (WHERE layer BETWEEN 0 AND 1)
                AS added_1,
            sum(added(start_ns, end_ns, to_2)) FILTER (WHERE layer >= 0) AS added_2,
            sum(start_ns - idle_from_ns) FILTER (
                WHERE has_gap AND is_plain AND call_start_ns IS NOT NULL
            ) AS called_ns,
            sum(start_ns - idle_from_ns) FILTER (
                WHERE has_gap AND is_plain AND call_start_ns IS NULL
            ) AS unknown_ns,
            sum(greatest(least(start_ns, call_start_ns) - idle_from_ns, 0)) FILTER (
                WHERE has_gap AND is_plain AND call_start_ns IS NOT NULL
            ) AS late_ns,
            sum(
                greatest(
                    least(start_ns, call_end_ns)
                    - greatest(idle_from_ns, call_start_ns),
                    0
                )
            ) FILTER (
                WHERE has_gap AND is_plain AND call_start_ns IS NOT NULL
            ) AS in_flight_ns,
            list(
                struct_pack(
                    owner := owner,
                    thread_id := thread_id,
                    call_start_ns := call_start_ns,
                    call_end_ns := call_end_ns,
                    start_ns := idle_from_ns,
                    end_ns := start_ns
                )
            ) FILTER (WHERE has_gap AND NOT is_plain) AS gaps
        FROM measured
        GROUP BY device_id, lane, cut_ns
    ),
    gap AS (
        SELECT
            shared.device_id,
            shared.lane,
            shared.gap.owner,
            shared.gap.thread_id,
            shared.gap.call_start_ns,
            shared.gap.call_end_ns,
            shared.gap.start_ns,
            shared.gap.end_ns
        FROM (
            SELECT
                device_id,
                lane,
                unnest(gaps) AS gap
            FROM between_cuts
        ) AS shared
        UNION ALL BY NAME
        -- What follows the last activity.
        SELECT
            lane.device_id,
            lane.lane,
            coalesce(max(between_cuts.last_ns), lane.first_ns) AS start_ns,
            lane.last_ns AS end_ns
        FROM lane
        LEFT JOIN between_cuts
            ON lane.device_id = between_cuts.device_id AND lane.lane = between_cuts.lane
        GROUP BY lane.device_id, lane.lane, lane.first_ns, lane.last_ns
        HAVING coalesce(max(between_cuts.last_ns), lane.first_ns) < lane.last_ns
    ),
    launcher AS (
        SELECT DISTINCT
            device_id,
            lane,
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
        INNER JOIN launcher
            ON lane.device_id = launcher.device_id AND lane.lane = launcher.lane
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
                AND gap.lane = waiter.lane
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
            profiler.start_ns,
            profiler.end_ns
        FROM profiler
        INNER JOIN waiter ON profiler.device_id = waiter.device_id
        UNION ALL
        SELECT
            waiter.key,
            2 AS layer,
            synchronization.start_ns,
            synchronization.end_ns
        FROM synchronization
        INNER JOIN waiter
            ON
                synchronization.owner = waiter.owner
                AND synchronization.thread_id = waiter.thread_id
    ),
    cause_cut AS (
        SELECT
            waiter.key,
            unnest([span.start_ns, span.end_ns]) AS time_ns
        FROM waiter
        INNER JOIN span
            ON waiter.device_id = span.device_id AND waiter.lane = span.lane
    ),
    part AS (
        SELECT
            waiter.device_id,
            waiter.lane,
            caused.start_ns,
            caused.end_ns,
            caused.layer_1_ns AS artifact_ns,
            caused.layer_2_ns AS synchronization_ns,
            caused.layer_3_ns AS in_flight_ns,
            caused.layer_4_ns AS late_ns,
            caused.layer_5_ns AS dependency_ns,
            caused.layer_6_ns AS unknown_ns
        FROM cover('cause', 'cause_cut') AS caused
        INNER JOIN waiter ON caused.key = waiter.key
        UNION ALL BY NAME
        SELECT
            device_id,
            lane,
            cut_ns AS start_ns,
            lead(cut_ns) OVER following AS end_ns,
            lead(cut_ns) OVER following - cut_ns AS window_ns,
            inside(beyond_0, added_0, lead(beyond_0) OVER following) AS kernel_ns,
            inside(beyond_1, added_1, lead(beyond_1) OVER following)
            - inside(beyond_0, added_0, lead(beyond_0) OVER following) AS graph_ns,
            inside(beyond_2, added_2, lead(beyond_2) OVER following)
            - inside(beyond_1, added_1, lead(beyond_1) OVER following) AS copy_ns,
            in_flight_ns::BIGINT AS in_flight_ns,
            late_ns::BIGINT AS late_ns,
            (called_ns - in_flight_ns - late_ns)::BIGINT AS dependency_ns,
            unknown_ns::BIGINT AS unknown_ns
        FROM between_cuts
        WHERE cut_ns IS NOT NULL
        WINDOW following AS (PARTITION BY device_id, lane ORDER BY cut_ns)
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
