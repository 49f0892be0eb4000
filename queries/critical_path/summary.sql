-- critical_path.summary: what bounds a training step, by its critical path.
--
-- The critical path is that of critical_path.trace; its pieces are added up here, and
-- add up to the step: GPU work that computes, communicates or copies; the delay of the
-- GPU between work that depends on each other; the delay of a launch, from the call to
-- the work; the host, of which loading data is a part of its own, known by the names of
-- ranges and operators as in steps.data_wait. With `by=name` there is a row for each
-- kernel and call. A part's time is what the step could save at most by its getting
-- faster, and less where another chain of work is nearly as long: whatif.kernel
-- replays it. It is the step of middle length, or the whole window without steps.
--
-- reads:
--   stable_step   rows
--   user_process  rows
--   time_window   lookup
--   launch        lookup
--   api_call      lookup
--   cuda_event    lookup
--   sync          lookup
--   annotation    lookup
--   operator      lookup
-- needs:
--   user_process
-- parameters:
--   step  BIGINT = -1     Number of the step, -1 for that of middle length.
--   by    VARCHAR = kind  One of kind or name: what has a row of its own.
-- columns:
--   process_id    INTEGER  The process, as in the process table.
--   step_index    BIGINT   Number of the step; NULL for a whole window.
--   bound_by      VARCHAR  gpu_compute, gpu_communication, gpu_copy, gpu_delay,
--                          launch_delay, data_loading, host or unknown.
--   kind          VARCHAR  As in critical_path.trace: running, stream, event, launch,
--                          return, call, host, unknown.
--   name          VARCHAR  Kernel or call; NULL by kind.
--   pieces        BIGINT   Pieces of the path.
--   total_ns      BIGINT   Their time.
--   length_ns     BIGINT   Length of the step with its GPU work: the sum of total_ns.
--   share         DOUBLE   total_ns over length_ns, 0 to 1.

WITH
    steps AS (FROM stable_step),
    windows AS (FROM time_window),
    users AS (FROM user_process),
    launches AS NOT MATERIALIZED (FROM launch),
    calls AS NOT MATERIALIZED (FROM api_call),
    events AS (FROM cuda_event),
    waits AS (FROM sync),
    stretch AS MATERIALIZED (FROM graph_stretch('steps', 'windows', 'users', $step)),
    work AS MATERIALIZED (FROM graph_work('stretch', 'launches')),
    host AS MATERIALIZED (FROM graph_calls('stretch', 'work', 'calls')),
    pairs AS MATERIALIZED (FROM graph_events('work', 'host', 'events', 'waits')),
    points AS MATERIALIZED (FROM graph_points('work', 'host', 'pairs', 'waits')),
    -- Once a name: its patterns are dear.
    named AS (
        SELECT DISTINCT name
        FROM work
        WHERE activity = 'kernel'
    ),
    communicating AS MATERIALIZED (
        SELECT
            name,
            is_communication_kernel(name) AS communicates
        FROM named
    ),
    piece AS MATERIALIZED (
        FROM critical_pieces('stretch', 'work', 'points')
    ),
    loads AS (
        SELECT
            coalesce(process_id, -1) AS key,
            start_ns,
            end_ns
        FROM annotation
        WHERE kind <> 'mark' AND end_ns > start_ns AND is_data_loading(text)
        UNION ALL
        SELECT
            coalesce(process_id, -1) AS key,
            start_ns,
            end_ns
        FROM operator
        WHERE end_ns > start_ns AND is_data_loading(name)
    ),
    loading AS (
        SELECT
            loads.key,
            loads.start_ns,
            loads.end_ns
        FROM loads
        INNER JOIN stretch
            ON
                loads.key = stretch.key
                AND loads.end_ns > stretch.from_ns
                AND loads.start_ns < stretch.to_ns
    ),
    loaded AS (
        SELECT
            piece.key,
            piece.start_ns,
            sum(
                least(piece.end_ns, load.end_ns)
                - greatest(piece.start_ns, load.start_ns)
            )::BIGINT AS loading_ns
        FROM piece
        INNER JOIN merged('loading') AS load
            ON
                piece.key = load.key
                AND piece.start_ns < load.end_ns
                AND piece.end_ns > load.start_ns
        WHERE piece.kind IN ('host', 'call') AND NOT piece.is_gpu
        GROUP BY piece.key, piece.start_ns
    ),
    part AS (
        SELECT
            piece.key,
            bound_by(piece.kind, work.activity, communicating.communicates)
                AS bound_by,
            piece.kind,
            CASE WHEN $by = 'name' THEN coalesce(work.name, host.name) END AS name,
            piece.end_ns - piece.start_ns - coalesce(loaded.loading_ns, 0) AS part_ns
        FROM piece
        LEFT JOIN loaded
            ON piece.key = loaded.key AND piece.start_ns = loaded.start_ns
        LEFT JOIN work ON piece.item = work.item AND piece.is_gpu
        LEFT JOIN communicating ON work.name = communicating.name
        LEFT JOIN host ON piece.item = host.call AND NOT piece.is_gpu
        UNION ALL
        SELECT
            key,
            'data_loading' AS bound_by,
            'host' AS kind,
            NULL AS name,
            loading_ns AS part_ns
        FROM loaded
    ),
    summed AS (
        SELECT
            key,
            bound_by,
            kind,
            name,
            count(*) AS pieces,
            sum(part_ns)::BIGINT AS total_ns
        FROM part
        WHERE part_ns > 0
        GROUP BY key, bound_by, kind, name
    )

SELECT
    stretch.process_id,
    stretch.step_index,
    summed.bound_by,
    summed.kind,
    summed.name,
    summed.pieces,
    summed.total_ns,
    sum(summed.total_ns) OVER (PARTITION BY summed.key)::BIGINT AS length_ns,
    summed.total_ns / sum(summed.total_ns) OVER (PARTITION BY summed.key) AS share
FROM summed
INNER JOIN stretch ON summed.key = stretch.key
ORDER BY
    stretch.process_id ASC, summed.total_ns DESC, summed.bound_by ASC,
    summed.kind ASC, summed.name ASC;
