-- os.summary: which calls of the operating system's libraries take time.
--
-- Times are summed over calls, so calls of several threads at once count each, and a
-- thread that waits counts as long as it waits. Equals `nsys stats` osrt_sum with
-- limit = 0.
--
-- reads:
--   os_call  rows
-- parameters:
--   limit  BIGINT = 20   Rows to return, 0 for all.
-- columns:
--   function_name  VARCHAR  Function, such as pthread_cond_wait.
--   calls          BIGINT   Calls that were counted.
--   total_ns       BIGINT   Summed duration.
--   time_share     DOUBLE   total_ns over that of all calls, 0 to 1.
--   mean_ns        DOUBLE   Mean duration.
--   median_ns      DOUBLE   Median duration.
--   min_ns         BIGINT   Shortest duration.
--   max_ns         BIGINT   Longest duration.
--   stddev_ns      DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH
    per_name AS (
        SELECT
            name AS function_name,
            count(*) AS calls,
            sum(end_ns - start_ns)::BIGINT AS total_ns,
            avg(end_ns - start_ns) AS mean_ns,
            median(end_ns - start_ns) AS median_ns,
            min(end_ns - start_ns) AS min_ns,
            max(end_ns - start_ns) AS max_ns,
            coalesce(stddev_samp(end_ns - start_ns), 0) AS stddev_ns
        FROM os_call
        GROUP BY name
    )

SELECT
    function_name,
    calls,
    total_ns,
    total_ns / sum(total_ns) OVER () AS time_share,
    mean_ns,
    median_ns,
    min_ns,
    max_ns,
    stddev_ns
FROM per_name
ORDER BY total_ns DESC, function_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
