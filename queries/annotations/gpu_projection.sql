-- annotations.gpu_projection: from first to last GPU work of each annotated range.
--
-- A range is projected to the GPU: from the first start to the last end of the kernels,
-- copies, fills and graphs whose API call lies in the range as a whole and was made by
-- the thread that began the range, or with launched_by = process by any thread of its
-- process. The projection says nothing of the time between, and those of nested ranges
-- overlap, so their sums count time more than once. A range in which nothing was
-- launched does not count; one without an end takes all that follows. Devices limit the
-- work that counts, a window the ranges: those that start inside, with all of their
-- work. Equals `nsys stats` nvtx_gpu_proj_sum with limit = 0 and
-- graph_launches = exclude: it leaves out graphs that were traced as a whole, so a
-- range that replays one looks idle there.
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
--   range_name       VARCHAR  Domain, a colon, text; the default domain is empty.
--   kind             VARCHAR  push_pop or start_end.
--   instances        BIGINT   Ranges in which work was launched.
--   total_gpu_ns     BIGINT   Summed length of the projections.
--   total_range_ns   BIGINT   Summed duration of the ranges; NULL if none has ended.
--   mean_gpu_ns      DOUBLE   Mean length of a projection.
--   median_gpu_ns    DOUBLE   Median length.
--   min_gpu_ns       BIGINT   Shortest projection.
--   max_gpu_ns       BIGINT   Longest projection.
--   stddev_gpu_ns    DOUBLE   Sample standard deviation (n - 1), 0 for one.
--   operations       BIGINT   API calls that launched work; a graph is one.
--   mean_operations  DOUBLE   Mean of them for a range.
--   mean_level       DOUBLE   Mean number of ranges around it; NULL for start_end.
--   mean_children    DOUBLE   Mean number of ranges with work that it is the parent of.

WITH
    projection AS (
        SELECT
            *,
            gpu_end_ns - gpu_start_ns AS gpu_ns
        FROM
            projected_ranges(
                'annotation', 'launch', $graph_launches, $launched_by
            )
    )

SELECT
    range_name(domain, text) AS range_name,
    kind,
    count(*) AS instances,
    sum(gpu_ns)::BIGINT AS total_gpu_ns,
    sum(end_ns - start_ns)::BIGINT AS total_range_ns,
    avg(gpu_ns) AS mean_gpu_ns,
    median(gpu_ns) AS median_gpu_ns,
    min(gpu_ns) AS min_gpu_ns,
    max(gpu_ns) AS max_gpu_ns,
    coalesce(stddev_samp(gpu_ns), 0) AS stddev_gpu_ns,
    sum(operations)::BIGINT AS operations,
    avg(operations) AS mean_operations,
    avg(level) AS mean_level,
    avg(children) AS mean_children
FROM projection
GROUP BY range_name(domain, text), kind
ORDER BY total_gpu_ns DESC, range_name ASC, kind ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
