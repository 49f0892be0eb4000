-- critical_path.trace: the chain of work and waiting that a training step took.
--
-- The path goes backwards from the end of the step's work (on the host or the GPU,
-- whichever is later) to the step's begin: each thing began or ended when the last of
-- those that it had to wait for let it, as in the graph of launches, streams, events
-- and synchronizations. The pieces follow each other without a gap, so their durations
-- add up to the step's. To make the step shorter one must make a piece of this path
-- shorter; what is not on it had slack.
--
-- It is the step of middle length (`step` names another), or the whole window where
-- there are no steps. What happened before the step's begin is not followed: GPU work
-- launched by an earlier step is on the path where this step's work had to wait for it.
-- Host threads that launch work are taken to hand it to each other. Events are known
-- where the capture has them; otherwise they are told by the calls. Other ranks are not
-- looked at: a communication kernel that waits for them is on the path itself.
--
-- Measured: about 3 s of CPU time for each 100,000 kernels of the step, so a window of
-- millions of kernels without steps takes minutes; `--window` makes it shorter.
--
-- reads:
--   stable_step   rows
--   user_process  rows
--   time_window   lookup
--   launch        lookup
--   api_call      lookup
--   cuda_event    lookup
--   sync          lookup
-- needs:
--   user_process
-- parameters:
--   step   BIGINT = -1  Number of the step, -1 for that of middle length.
--   limit  BIGINT = 0   Rows to return, 0 for all.
-- columns:
--   process_id    INTEGER  The process, as in the process table.
--   step_index    BIGINT   Number of the step; NULL for a whole window.
--   place         BIGINT   Place on the path, from 0.
--   start_ns      BIGINT   When the piece began.
--   end_ns        BIGINT   When it ended.
--   duration_ns   BIGINT   Its length.
--   bound_by      VARCHAR  gpu_compute, gpu_communication, gpu_copy, gpu_delay,
--                          launch_delay, host or unknown.
--   kind          VARCHAR  running, stream, event, launch, return, call, host, unknown.
--   name          VARCHAR  The kernel, copy or call: what ran, or what was waited with.
--   device_id     INTEGER  The device, as in the device table; NULL on the host.
--   stream_id     BIGINT   The stream; NULL on the host.
--   thread_id     INTEGER  The thread, as in the thread table; NULL on the GPU.

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
    piece AS (FROM critical_pieces('stretch', 'work', 'points'))

SELECT
    stretch.process_id,
    stretch.step_index,
    row_number() OVER (PARTITION BY piece.key ORDER BY piece.start_ns) - 1 AS place,
    piece.start_ns,
    piece.end_ns,
    piece.end_ns - piece.start_ns AS duration_ns,
    bound_by(piece.kind, work.activity, communicating.communicates) AS bound_by,
    piece.kind,
    coalesce(work.name, host.name) AS name,
    work.device_id,
    work.stream_id,
    host.thread_id
FROM piece
INNER JOIN stretch ON piece.key = stretch.key
LEFT JOIN work ON piece.item = work.item AND piece.is_gpu
LEFT JOIN communicating ON work.name = communicating.name
LEFT JOIN host ON piece.item = host.call AND NOT piece.is_gpu
ORDER BY stretch.process_id ASC, place ASC
LIMIT CASE WHEN $limit > 0 THEN $limit END;
