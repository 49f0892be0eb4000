-- steps.summary: each training step: how long it took, and what it put on the GPU.
--
-- A step lasts from the start to the end of what marks it: a range of the program, a
-- step of the profiler. GPU work belongs to the step in which the same process made
-- the call that launched it, whole, also where it ran after the step's end; work whose
-- call was not recorded belongs to none. Times of kernels are summed, so those that
-- ran at once count twice: steps.breakdown has wall time. By default the stable steps
-- alone; `--window all` has all of them.
--
-- reads:
--   stable_step  rows
--   launch       rows
-- needs:
--   step
-- columns:
--   step_index          BIGINT   Number of the step.
--   process_id          INTEGER  The process, as in the process table.
--   name                VARCHAR  Text of the annotation it was read from.
--   start_ns            BIGINT   When it began.
--   end_ns              BIGINT   When it ended.
--   duration_ns         BIGINT   How long it took.
--   stable              BOOLEAN  Whether it is one of the stable steps.
--   samples             DOUBLE   Samples processed in it.
--   unit                VARCHAR  What a sample is.
--   samples_per_second  DOUBLE   samples over its duration.
--   kernels             BIGINT   Kernels launched in it; NULL where no launch of the
--                                process was recorded.
--   kernel_ns           BIGINT   Their summed durations.
--   gpu_end_ns          BIGINT   When the last GPU work launched in it ended.
--   source              VARCHAR  Where the step comes from: annotation, profiler,
--                                workload or detected.

WITH
    marked AS (
        SELECT
            *,
            coalesce(process_id, -1) AS owner
        FROM stable_step
    ),
    launched AS (
        SELECT
            activity,
            start_ns,
            end_ns,
            call_start_ns,
            coalesce(process_id, -1) AS owner
        FROM launch
        WHERE call_start_ns IS NOT NULL
    ),
    traced AS (
        SELECT DISTINCT owner
        FROM launched
    ),
    work AS (
        SELECT
            marked.owner,
            marked.start_ns,
            count(*) FILTER (WHERE launched.activity = 'kernel') AS kernels,
            coalesce(
                sum(launched.end_ns - launched.start_ns)
                FILTER (WHERE launched.activity = 'kernel'),
                0
            )::BIGINT AS kernel_ns,
            max(launched.end_ns) AS gpu_end_ns
        FROM launched
        ASOF INNER JOIN marked
            ON
                launched.owner = marked.owner
                AND launched.call_start_ns >= marked.start_ns
        WHERE launched.call_start_ns < marked.end_ns
        GROUP BY marked.owner, marked.start_ns
    )

SELECT
    marked.step_index,
    marked.process_id,
    marked.name,
    marked.start_ns,
    marked.end_ns,
    marked.end_ns - marked.start_ns AS duration_ns,
    marked.stable,
    marked.samples,
    marked.unit,
    marked.samples * 1e9 / nullif(marked.end_ns - marked.start_ns, 0)
        AS samples_per_second,
    CASE WHEN traced.owner IS NOT NULL THEN coalesce(work.kernels, 0) END AS kernels,
    CASE WHEN traced.owner IS NOT NULL THEN coalesce(work.kernel_ns, 0) END
        AS kernel_ns,
    work.gpu_end_ns,
    marked.source
FROM marked
LEFT JOIN traced ON marked.owner = traced.owner
LEFT JOIN work
    ON marked.owner = work.owner AND marked.start_ns = work.start_ns
ORDER BY
    marked.start_ns ASC, marked.process_id ASC, marked.step_index ASC,
    marked.end_ns ASC;
