-- What waits for what in a stretch of a program: the graph of host and GPU.
--
-- Its points are the begins and ends of GPU activities and of the API calls of the
-- threads that launch them. A point follows others, and happens at the latest of them
-- or some time after it:
--   a GPU activity begins after its launch (the end of the call, or the begin where the
--   GPU was faster than the call); after what ran before it on its stream; after the
--   event that its stream was told to wait for; in a CUDA graph after what ended last
--   in that launch;
--   a call ends after its begin; one that synchronizes, or copies, also after the GPU
--   work that it waited for;
--   a call begins after the last end of a call on any thread of the process that
--   launches: such threads are taken to hand their work to each other.
--
-- An activity that begins while an earlier one of its stream still runs (programmatic
-- launch) follows the begin of the one that began last. What an event stands for is
-- known where events were recorded; elsewhere an activity before whose launch, and
-- after that of the one before it on its stream, a call made some stream wait for an
-- event follows whatever ended last on the GPUs of the process. Activities of length 0
-- are left out.

-- The stretch of each process: key, process_id, step_index, from_ns, to_ns.
-- `step_asked` is the number of a step, or -1 for the stable step of middle length, and
-- for the whole window where there are no steps. Names of tables like stable_step,
-- time_window and user_process.
CREATE MACRO graph_stretch(
    step_table, window_table, user_table, step_asked
) AS TABLE (
    WITH
        windows AS NOT MATERIALIZED (FROM query_table(window_table)),
        users AS NOT MATERIALIZED (FROM query_table(user_table)),
        placed AS (
            SELECT
                *,
                row_number() OVER (
                    PARTITION BY process_id
                    ORDER BY end_ns - start_ns, start_ns, step_index
                ) AS place,
                count(*) OVER (PARTITION BY process_id) AS places
            FROM query_table(step_table)
            WHERE CASE WHEN step_asked >= 0 THEN step_index = step_asked ELSE stable END
        )

    SELECT
        coalesce(process_id, -1) AS key,
        process_id,
        step_index,
        start_ns AS from_ns,
        end_ns AS to_ns
    FROM placed
    WHERE place = (places + 1) // 2
    UNION ALL
    SELECT
        coalesce(users.process_id, -1) AS key,
        users.process_id,
        NULL AS step_index,
        min(windows.start_ns) AS from_ns,
        max(windows.end_ns) AS to_ns
    FROM windows
    INNER JOIN users
        ON windows.device_id = users.device_id
    WHERE step_asked < 0 AND NOT EXISTS (FROM query_table(step_table)) -- noqa: RF02
    GROUP BY users.process_id
);

-- The activities of the stretches, whatever was launched before their ends and had not
-- ended before their begins: item, key, reach_ns (when the stretch's own work ends) and
-- columns of `launch`. `lane` is the stream.
CREATE MACRO graph_work(stretch_table, launch_table) AS TABLE (
    WITH
        launch AS NOT MATERIALIZED (FROM query_table(launch_table)),
        stretch AS NOT MATERIALIZED (FROM query_table(stretch_table)),
        found AS (
            SELECT
                stretch.key,
                stretch.from_ns,
                stretch.to_ns,
                launch.activity,
                launch.name,
                launch.short_name,
                launch.device_id,
                launch.stream_id,
                (launch.device_id, launch.context_id, launch.stream_id) AS stream,
                launch.correlation_id,
                launch.thread_id,
                launch.start_ns,
                launch.end_ns,
                launch.call_name,
                launch.call_start_ns,
                launch.call_end_ns
            FROM launch
            INNER JOIN stretch
                ON
                    coalesce(launch.process_id, -1) = stretch.key
                    AND launch.end_ns > stretch.from_ns
            WHERE
                launch.end_ns > launch.start_ns
                AND coalesce(launch.call_start_ns, launch.start_ns) < stretch.to_ns
        )

    SELECT
        *,
        row_number() OVER (
            ORDER BY key, start_ns, end_ns, correlation_id, stream_id, name
        ) AS item,
        dense_rank() OVER (ORDER BY key, stream) AS lane,
        greatest(
            to_ns,
            max(CASE WHEN coalesce(call_start_ns, start_ns) >= from_ns THEN end_ns END)
                OVER (PARTITION BY key)
        ) AS reach_ns
    FROM found
);

-- The calls of the stretches: call, key, thread_id, name, start_ns, end_ns, launches
-- (whether it launched work of the stretch), correlation_id. Calls inside of another
-- are left out, unless they launch.
CREATE MACRO graph_calls(stretch_table, work_table, call_table) AS TABLE (
    WITH
        call AS NOT MATERIALIZED (FROM query_table(call_table)),
        stretch AS NOT MATERIALIZED (FROM query_table(stretch_table)),
        launcher AS (
            SELECT DISTINCT
                key,
                thread_id
            FROM query_table(work_table)
            WHERE call_start_ns IS NOT NULL
        ),
        own AS (
            SELECT
                stretch.key,
                call.thread_id,
                call.name,
                call.start_ns,
                call.end_ns,
                call.correlation_id,
                max(call.end_ns) OVER (
                    PARTITION BY stretch.key, call.thread_id
                    ORDER BY call.start_ns ASC, call.end_ns DESC, call.domain DESC
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS reached_ns
            FROM call
            INNER JOIN stretch
                ON
                    coalesce(call.process_id, -1) = stretch.key
                    AND call.end_ns > stretch.from_ns
                    AND call.start_ns < stretch.to_ns
            SEMI JOIN launcher
                ON
                    stretch.key = launcher.key
                    AND call.thread_id = launcher.thread_id
            WHERE call.domain IS DISTINCT FROM 'backtrace'
        ),
        either AS (
            SELECT
                key,
                thread_id,
                name,
                start_ns,
                end_ns,
                correlation_id,
                FALSE AS launches
            FROM own
            WHERE reached_ns IS NULL OR end_ns > reached_ns
            UNION ALL
            SELECT
                key,
                thread_id,
                call_name AS name,
                call_start_ns AS start_ns,
                call_end_ns AS end_ns,
                correlation_id,
                TRUE AS launches
            FROM query_table(work_table)
            WHERE call_end_ns > from_ns
        )

    SELECT
        row_number() OVER (
            ORDER BY key, start_ns, end_ns, thread_id, correlation_id, name
        ) AS call,
        key,
        thread_id,
        name,
        start_ns,
        end_ns,
        correlation_id,
        bool_or(launches) AS launches
    FROM either
    GROUP BY key, thread_id, name, start_ns, end_ns, correlation_id
);

-- Which activity an event lets begin: item, source. Names of tables like graph_work,
-- graph_calls, cuda_event and sync.
CREATE MACRO graph_events(work_table, call_table, event_table, wait_table) AS TABLE (
    WITH
        event AS NOT MATERIALIZED (FROM query_table(event_table)),
        call AS NOT MATERIALIZED (FROM query_table(call_table)),
        sync AS NOT MATERIALIZED (FROM query_table(wait_table)),
        record AS (
            SELECT
                call.key,
                event.event_id,
                (event.device_id, event.context_id, event.stream_id) AS stream,
                call.start_ns AS called_ns
            FROM event
            INNER JOIN call
                ON
                    coalesce(event.process_id, -1) = call.key
                    AND event.correlation_id = call.correlation_id
            WHERE event.event_id IS NOT NULL
        ),
        wait AS (
            SELECT
                call.key,
                sync.event_id,
                (sync.device_id, sync.context_id, sync.stream_id) AS stream,
                call.start_ns AS called_ns
            FROM sync
            INNER JOIN call
                ON
                    coalesce(sync.process_id, -1) = call.key
                    AND sync.correlation_id = call.correlation_id
            WHERE sync.kind = 'stream_wait_event' AND sync.event_id IS NOT NULL
        ),
        pair AS (
            SELECT
                wait.key,
                wait.stream,
                wait.called_ns,
                record.stream AS source_stream,
                record.called_ns AS recorded_ns
            FROM wait
            ASOF INNER JOIN record
                ON
                    wait.key = record.key
                    AND wait.event_id = record.event_id
                    AND wait.called_ns >= record.called_ns
        ),
        launched AS (
            SELECT
                key,
                stream,
                item,
                call_start_ns
            FROM query_table(work_table)
            WHERE call_start_ns IS NOT NULL
        ),
        sourced AS (
            SELECT
                pair.key,
                pair.stream,
                pair.called_ns,
                launched.item AS source
            FROM pair
            ASOF INNER JOIN launched
                ON
                    pair.key = launched.key
                    AND pair.source_stream = launched.stream
                    AND pair.recorded_ns >= launched.call_start_ns
        ),
        targeted AS (
            SELECT
                launched.item,
                sourced.source
            FROM sourced
            ASOF INNER JOIN launched
                ON
                    sourced.key = launched.key
                    AND sourced.stream = launched.stream
                    AND sourced.called_ns <= launched.call_start_ns
        )

    SELECT
        item,
        max(source) AS source
    FROM targeted
    GROUP BY item
);
