-- compile.time: how long programs were compiled and loaded, apart from warm-up.
--
-- Compiling is known by the names of API and library calls, operators, ranges and
-- Python functions (the rules are in queries/_rules/compile_kind.csv): torch.compile
-- (its timed phases, which hold Triton's inside), Triton alone, XLA, CUDA's own
-- compiler and linker, and the loading of modules, which compiles where a module has no
-- code for the GPU. Times are unions over the threads of a process, so what nests or
-- runs at once counts once; the kind `all` is the union of all kinds.
--
-- The first steps are slow for other reasons, too: caches fill, allocators grow, clocks
-- rise. So the time is parted at the first step and at the first stable one, and
-- warm_up_excess_ns says what the steps before the stable ones took longer than these:
-- what of it is no compiling is warm-up. Where nothing was recorded that compiles there
-- is no row: a profiler that does not trace the compiler, or began after it, cannot
-- tell.
--
-- reads:
--   api_call         rows
--   library_call     rows
--   operator         rows
--   annotation       rows
--   python_function  rows
--   stable_step      lookup
-- columns:
--   process_id         INTEGER  The process, as in the process table.
--   kind               VARCHAR  torch_compile, triton, xla, cuda_jit, module_load, all.
--   events             BIGINT   Calls, ranges and functions that were counted.
--   total_ns           BIGINT   Time in which one of them ran.
--   before_steps_ns    BIGINT   Of it, before the first step; NULL without steps.
--   warm_up_ns         BIGINT   Of it, from there to the first stable step.
--   later_ns           BIGINT   Of it, from there on: what is compiled again.
--   longest_ns         BIGINT   Longest event.
--   longest_name       VARCHAR  Its name.
--   warm_up_excess_ns  BIGINT   What the steps before the stable ones took longer than
--                               as many stable ones of middle length; in the row of
--                               `all`.

WITH
    names AS (
        SELECT DISTINCT name
        FROM api_call
        UNION
        SELECT DISTINCT name
        FROM library_call
        UNION
        SELECT DISTINCT name
        FROM operator
        UNION
        SELECT DISTINCT text AS name
        FROM annotation
        WHERE kind <> 'mark'
        UNION
        SELECT DISTINCT name
        FROM python_function
    ),
    -- A column and no filter: that would go down to the tables, and run its patterns
    -- once a row instead of once a name.
    judged AS MATERIALIZED (
        SELECT
            name,
            compile_kind(name) AS kind
        FROM names
    ),
    found AS NOT MATERIALIZED (
        SELECT
            process_id,
            name,
            start_ns,
            end_ns
        FROM api_call
        WHERE domain IS DISTINCT FROM 'backtrace'
        UNION ALL
        SELECT
            process_id,
            name,
            start_ns,
            end_ns
        FROM library_call
        UNION ALL
        SELECT
            process_id,
            name,
            start_ns,
            end_ns
        FROM operator
        UNION ALL
        SELECT
            process_id,
            text AS name,
            start_ns,
            end_ns
        FROM annotation
        WHERE kind <> 'mark'
        UNION ALL
        SELECT
            process_id,
            name,
            start_ns,
            end_ns
        FROM python_function
    ),
    compiling AS MATERIALIZED (
        SELECT
            found.process_id,
            found.name,
            found.start_ns,
            found.end_ns,
            unnest([judged.kind, 'all']) AS kind
        FROM found
        INNER JOIN judged ON found.name = judged.name
        WHERE judged.kind <> 'other' AND found.end_ns >= found.start_ns
    ),
    keyed AS (
        SELECT
            (process_id, kind) AS key,
            start_ns,
            end_ns
        FROM compiling
    ),
    united AS (
        SELECT
            key[1] AS process_id,
            key[2] AS kind,
            start_ns,
            end_ns
        FROM merged('keyed')
    ),
    stepped AS (
        SELECT
            process_id,
            min(start_ns) AS first_ns,
            coalesce(min(start_ns) FILTER (WHERE stable), max(end_ns)) AS stable_ns,
            (
                coalesce(sum(end_ns - start_ns) FILTER (WHERE NOT stable), 0)
                - count(*) FILTER (WHERE NOT stable)
                * median(end_ns - start_ns) FILTER (WHERE stable)
            )::BIGINT AS excess_ns
        FROM stable_step
        GROUP BY process_id
    ),
    timed AS (
        SELECT
            united.process_id,
            united.kind,
            sum(united.end_ns - united.start_ns)::BIGINT AS total_ns,
            sum(
                CASE
                    WHEN stepped.first_ns IS NOT NULL
                        THEN greatest(
                            least(united.end_ns, stepped.first_ns) - united.start_ns, 0
                        )
                END
            )::BIGINT AS before_steps_ns,
            sum(
                CASE
                    WHEN stepped.stable_ns IS NOT NULL
                        THEN greatest(
                            least(united.end_ns, stepped.stable_ns) - united.start_ns, 0
                        )
                END
            )::BIGINT AS before_stable_ns
        FROM united
        LEFT JOIN stepped ON united.process_id IS NOT DISTINCT FROM stepped.process_id
        GROUP BY united.process_id, united.kind
    ),
    counted AS (
        SELECT
            process_id,
            kind,
            count(*) AS events,
            max(end_ns - start_ns) AS longest_ns,
            arg_max(name, (end_ns - start_ns, name)) AS longest_name
        FROM compiling
        GROUP BY process_id, kind
    )

SELECT
    counted.process_id,
    counted.kind,
    counted.events,
    timed.total_ns,
    timed.before_steps_ns,
    timed.before_stable_ns - timed.before_steps_ns AS warm_up_ns,
    timed.total_ns - timed.before_stable_ns AS later_ns,
    counted.longest_ns,
    counted.longest_name,
    CASE counted.kind WHEN 'all' THEN stepped.excess_ns END AS warm_up_excess_ns
FROM counted
INNER JOIN timed
    ON
        counted.process_id IS NOT DISTINCT FROM timed.process_id
        AND counted.kind = timed.kind
LEFT JOIN stepped ON counted.process_id IS NOT DISTINCT FROM stepped.process_id
ORDER BY counted.process_id ASC, timed.total_ns DESC, counted.kind ASC;
