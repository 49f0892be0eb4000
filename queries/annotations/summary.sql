-- annotations.summary: how long the annotated ranges take, by name and kind.
--
-- Times are summed over ranges, so a range and those nested in it count each. A range
-- that was still open at the end of the capture has no duration: it counts in
-- open_ranges and nowhere else, or, with open_ranges = until_last, lasts until the last
-- time of any range or mark that was asked for. Marks have no duration and are in
-- annotations.trace. Equals `nsys stats` nvtx_sum with limit = 0 and
-- open_ranges = until_last; with kinds = push_pop, nvtx_pushpop_sum; with
-- kinds = start_end, nvtx_startend_sum.
--
-- reads:
--   annotation  rows
-- parameters:
--   limit        BIGINT = 20         Rows to return, 0 for all.
--   kinds        VARCHAR = all       One of all, push_pop or start_end: the ranges
--                                    that count.
--   open_ranges  VARCHAR = exclude   One of exclude or until_last: what a range
--                                    without an end is worth.
-- columns:
--   range_name   VARCHAR  Domain, a colon, text; the default domain is empty.
--   kind         VARCHAR  push_pop or start_end.
--   instances    BIGINT   Ranges that were counted.
--   open_ranges  BIGINT   Ranges that had not ended.
--   total_ns     BIGINT   Summed duration.
--   time_share   DOUBLE   total_ns over that of all rows, 0 to 1.
--   mean_ns      DOUBLE   Mean duration.
--   median_ns    DOUBLE   Median duration.
--   min_ns       BIGINT   Shortest duration.
--   max_ns       BIGINT   Longest duration.
--   stddev_ns    DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    last_time AS (
        SELECT max(greatest(start_ns, coalesce(end_ns, start_ns))) AS last_ns
        FROM annotation
    ),
    timed AS (
        SELECT
            domain,
            text,
            kind,
            end_ns,
            CASE
                WHEN $open_ranges = 'until_last'
                    THEN coalesce(end_ns, (SELECT last_time.last_ns FROM last_time))
                ELSE end_ns
            END - start_ns AS duration_ns
        FROM annotation
        WHERE kind IN ('push_pop', 'start_end') AND $kinds IN ('all', kind)
    ),
    per_name AS (
        SELECT
            range_name(domain, text) AS range_name,
            kind,
            count(duration_ns) AS instances,
            count(*) - count(end_ns) AS open_ranges,
            sum(duration_ns)::BIGINT AS total_ns,
            avg(duration_ns) AS mean_ns,
            median(duration_ns) AS median_ns,
            min(duration_ns) AS min_ns,
            max(duration_ns) AS max_ns,
            CASE
                WHEN count(duration_ns) > 0
                    THEN coalesce(stddev_samp(duration_ns), 0)
            END AS stddev_ns
        FROM timed
        GROUP BY range_name(domain, text), kind
    )

SELECT
    range_name,
    kind,
    instances,
    open_ranges,
    total_ns,
    total_ns / nullif(sum(total_ns) OVER (), 0) AS time_share,
    mean_ns,
    median_ns,
    min_ns,
    max_ns,
    stddev_ns
FROM per_name
ORDER BY total_ns DESC NULLS LAST, range_name ASC, kind ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
