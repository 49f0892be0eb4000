-- api.summary: which CUDA API calls take the time of the CPU.
--
-- Times are summed over calls, so calls of several threads at once count each, and so
-- does a driver call inside of a runtime call. A row of domain `backtrace` spans a call
-- together with the profiler's backtrace of it; the call has a row of its own, so
-- these are left out unless backtraces = include. Equals `nsys stats` cuda_api_sum with
-- limit = 0, for a capture without backtraces.
--
-- reads:
--   api_call  rows
-- parameters:
--   limit       BIGINT = 20         Rows to return, 0 for all.
--   backtraces  VARCHAR = exclude   One of exclude or include: whether rows of domain
--                                   backtrace count.
-- columns:
--   api_name    VARCHAR  Function, without a final _v and exactly four digits.
--   calls       BIGINT   Calls that were counted.
--   total_ns    BIGINT   Summed duration.
--   time_share  DOUBLE   total_ns over that of all calls, 0 to 1.
--   mean_ns     DOUBLE   Mean duration.
--   median_ns   DOUBLE   Median duration.
--   min_ns      BIGINT   Shortest duration.
--   max_ns      BIGINT   Longest duration.
--   stddev_ns   DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    per_name AS (
        SELECT
            name AS api_name,
            count(*) AS calls,
            sum(end_ns - start_ns)::BIGINT AS total_ns,
            avg(end_ns - start_ns) AS mean_ns,
            median(end_ns - start_ns) AS median_ns,
            min(end_ns - start_ns) AS min_ns,
            max(end_ns - start_ns) AS max_ns,
            coalesce(stddev_samp(end_ns - start_ns), 0) AS stddev_ns
        FROM api_call
        WHERE $backtraces = 'include' OR domain IS DISTINCT FROM 'backtrace'
        GROUP BY name
    )

SELECT
    api_name,
    calls,
    total_ns,
    total_ns / sum(total_ns) OVER () AS time_share,
    mean_ns,
    median_ns,
    min_ns,
    max_ns,
    stddev_ns
FROM per_name
ORDER BY total_ns DESC, api_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
