-- annotations.gpu_projection_trace: each range with the GPU work launched inside of it.
--
-- A range is projected to the GPU: from the first start to the last end of the kernels,
-- copies, fills and graphs whose API call lies in the range as a whole and was made by
-- the thread that began the range, or with launched_by = process by any thread of its
-- process. The projection says nothing of the time between, and those of nested ranges
-- overlap. A range in which nothing was launched has no row; one without an end takes
-- all that follows. Devices limit the work that counts, a window the ranges: those
-- that start inside, with all of their work. Parents are the push_pop ranges around a
-- range, of its thread and domain. Equals `nsys stats` nvtx_gpu_proj_trace with limit =
-- 0 and graph_launches = exclude: it leaves out graphs that were traced as a whole, so
-- a range that replays one looks idle there.
--
-- reads:
--   launch      whole
--   annotation  rows
-- needs:
--   annotation
--   api_call
-- parameters:
--   limit           BIGINT = 20          Rows to return, 0 for all.
--   graph_launches  VARCHAR = include    One of include or exclude: whether graphs that
--                                        were traced as a whole count.
--   launched_by     VARCHAR = thread     One of thread or process: whose launches
--                                        count.
-- columns:
--   range_name     VARCHAR  Domain, a colon, text; the default domain is empty.
--   kind           VARCHAR  push_pop or start_end.
--   process_id     INTEGER  The process, as in the process table.
--   thread_id      INTEGER  Thread that began the range, as in the thread table.
--   start_ns       BIGINT   When the range began.
--   duration_ns    BIGINT   Its duration; NULL if it had not ended.
--   gpu_start_ns   BIGINT   First start of its work on the GPU.
--   gpu_ns         BIGINT   From there to the last end of its work.
--   operations     BIGINT   API calls that launched work; a graph is one.
--   level          BIGINT   Ranges around it, 0 for none; NULL for start_end.
--   children       BIGINT   Ranges with work that it is the parent of.
--   annotation_id  BIGINT   The range, as in the annotation table.
--   parent_id      BIGINT   The range around it.

WITH
    projection AS (
        FROM projected_ranges('annotation', 'launch', $graph_launches, $launched_by)
    )

SELECT
    range_name(domain, text) AS range_name,
    kind,
    process_id,
    thread_id,
    start_ns,
    end_ns - start_ns AS duration_ns,
    gpu_start_ns,
    gpu_end_ns - gpu_start_ns AS gpu_ns,
    operations,
    level,
    children,
    annotation_id,
    parent_id
FROM projection
ORDER BY start_ns ASC, place ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
