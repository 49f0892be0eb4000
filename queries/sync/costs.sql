-- sync.costs: where the host waits for the GPU, and whether it worked meanwhile.
--
-- Waiting while a GPU of the process works is hidden by that work; waiting while all
-- of them are idle is time that nobody uses: the call itself, and the way back to the
-- host.
-- Calls are those that synchronize by name; copies that wait are in api.expensive.
-- Times are summed over calls, so threads that wait at once count twice.
--
-- reads:
--   api_call      rows
--   gpu_activity  whole
-- needs:
--   api_call
-- columns:
--   process_id   INTEGER  The process, as in the process table.
--   thread_id    INTEGER  The thread, as in the thread table.
--   api_name     VARCHAR  The API function.
--   calls        BIGINT   Calls that were counted.
--   total_ns     BIGINT   Summed duration.
--   gpu_busy_ns  BIGINT   Of it, time in which a GPU of the process worked.
--   gpu_idle_ns  BIGINT   Of it, time in which none worked.
--   mean_ns      DOUBLE   Mean duration.
--   median_ns    DOUBLE   Median duration.
--   max_ns       BIGINT   Longest call.

WITH
    wait AS (
        SELECT
            process_id,
            thread_id,
            name AS api_name,
            start_ns,
            end_ns,
            coalesce(process_id, -1) AS key
        FROM api_call
        WHERE is_synchronize_call(name) AND domain IS DISTINCT FROM 'backtrace'
    ),
    work AS (
        SELECT
            coalesce(process_id, -1) AS key,
            0 AS layer,
            start_ns,
            end_ns
        FROM gpu_activity
    ),
    edge AS (
        SELECT
            key,
            unnest([start_ns, end_ns]) AS time_ns
        FROM wait
    ),
    busy AS (
        SELECT *
        FROM covered_before('work', 'edge')
    ),
    timed AS (
        SELECT
            wait.process_id,
            wait.thread_id,
            wait.api_name,
            wait.end_ns - wait.start_ns AS duration_ns,
            at_end.covered_ns - at_start.covered_ns AS gpu_busy_ns
        FROM wait
        INNER JOIN busy AS at_start
            ON wait.key = at_start.key AND wait.start_ns = at_start.time_ns
        INNER JOIN busy AS at_end
            ON wait.key = at_end.key AND wait.end_ns = at_end.time_ns
    )

SELECT
    process_id,
    thread_id,
    api_name,
    count(*) AS calls,
    sum(duration_ns)::BIGINT AS total_ns,
    sum(gpu_busy_ns)::BIGINT AS gpu_busy_ns,
    sum(duration_ns - gpu_busy_ns)::BIGINT AS gpu_idle_ns,
    avg(duration_ns) AS mean_ns,
    median(duration_ns) AS median_ns,
    max(duration_ns) AS max_ns
FROM timed
GROUP BY process_id, thread_id, api_name
ORDER BY total_ns DESC, process_id ASC, thread_id ASC, api_name ASC;
