-- whatif.kernel: how long a step would be if some kernels were faster or copies hidden.
--
-- The step is replayed on the graph of what waits for what (critical_path.trace): each
-- kernel that is asked for takes its time over `faster`, and everything that waited for
-- it moves up as far as what else it waits for lets it. So the host and launches limit
-- what faster kernels bring. Times that are kept: all other kernels, the host's code
-- between calls, and what a point came later than the last it waited for, but that work
-- whose launch now comes last begins after it by the middle launch delay of the step.
-- A call that waits for several streams is taken to wait for the one that ended last.
-- Communication kernels that wait for other ranks keep their time unless asked for.
-- `replayed_ns` is the step without a change: it equals the recorded one, whatever the
-- prediction is worth. docs/measured/whatif.md has predictions beside measurements.
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
--   kernels  VARCHAR = gemm      A category of kernels.by_category, all, none, or a
--                                regular expression on the name.
--   faster   DOUBLE = 2          How many times faster they are.
--   copies   VARCHAR = recorded  One of recorded, faster or hidden: as they are, faster
--                                as the kernels, or without any time.
--   step     BIGINT = -1         Number of the step, -1 for that of middle length.
-- columns:
--   process_id         INTEGER  The process, as in the process table.
--   step_index         BIGINT   Number of the step; NULL for a whole window.
--   activities         BIGINT   Kernels and copies that are changed.
--   activities_ns      BIGINT   Their summed time as recorded.
--   removed_ns         BIGINT   What that becomes shorter by.
--   step_ns            BIGINT   Length of the step with its GPU work, as recorded.
--   replayed_ns        BIGINT   The same by a replay without a change.
--   predicted_ns       BIGINT   The same by a replay with the change.
--   saved_ns           BIGINT   step_ns less predicted_ns.
--   speedup            DOUBLE   step_ns over predicted_ns.

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
    wanted AS MATERIALIZED (
        SELECT
            name,
            CASE $kernels
                WHEN 'all' THEN TRUE
                WHEN 'none' THEN FALSE
                ELSE
                    kernel_category(name) = $kernels OR regexp_matches(name, $kernels)
            END AS is_wanted
        FROM named
    ),
    changed AS MATERIALIZED (
        SELECT
            work.item,
            work.key,
            work.end_ns - work.start_ns AS duration_ns,
            CASE
                WHEN work.activity = 'memcpy' AND $copies = 'hidden' THEN 0
                ELSE ((work.end_ns - work.start_ns) / $faster)::BIGINT
            END AS changed_ns
        FROM work
        LEFT JOIN wanted ON work.name = wanted.name
        WHERE
            CASE work.activity
                WHEN 'kernel' THEN coalesce(wanted.is_wanted, FALSE)
                WHEN 'memcpy' THEN $copies <> 'recorded'
                ELSE FALSE
            END
            -- What an earlier step launched is over or not as it was.
            AND work.start_ns >= work.from_ns
    ),
    replayed AS (FROM replayed_steps('stretch', 'work', 'points', 'changed')),
    total AS (
        SELECT
            key,
            count(*) AS activities,
            sum(duration_ns)::BIGINT AS activities_ns,
            sum(duration_ns - changed_ns)::BIGINT AS removed_ns
        FROM changed
        GROUP BY key
    )

SELECT
    stretch.process_id,
    stretch.step_index,
    coalesce(total.activities, 0) AS activities,
    coalesce(total.activities_ns, 0) AS activities_ns,
    coalesce(total.removed_ns, 0) AS removed_ns,
    replayed.step_ns,
    replayed.replayed_ns,
    replayed.predicted_ns,
    replayed.step_ns - replayed.predicted_ns AS saved_ns,
    replayed.step_ns / nullif(replayed.predicted_ns, 0) AS speedup
FROM replayed
INNER JOIN stretch ON replayed.key = stretch.key
LEFT JOIN total ON stretch.key = total.key
ORDER BY stretch.process_id ASC;
