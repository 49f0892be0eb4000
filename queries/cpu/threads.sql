-- cpu.threads: what each thread did, as far as it was recorded.
--
-- Times are lengths of unions, so nested calls count once: on a core, in CUDA API
-- calls, of these in calls that wait for the GPU, in calls of the operating system's
-- libraries (which mostly wait). What was not recorded at all is NULL.
--
-- reads:
--   api_call    rows
--   os_call     rows
--   cpu_slice   rows
--   cpu_sample  rows
--   thread      lookup
-- columns:
--   process_id    INTEGER  The process, as in the process table.
--   thread_id     INTEGER  The thread, as in the thread table.
--   os_tid        BIGINT   Thread id of the operating system.
--   name          VARCHAR  Name of the thread.
--   scheduled_ns  BIGINT   Time on a core.
--   api_calls     BIGINT   CUDA API calls.
--   api_ns        BIGINT   Time in CUDA API calls.
--   sync_ns       BIGINT   Time in those that wait for the GPU.
--   launch_calls  BIGINT   Calls that launch kernels or graphs.
--   os_calls      BIGINT   Calls of the operating system's libraries.
--   os_ns         BIGINT   Time in them.
--   cpu_samples   BIGINT   Samples of its call stack.

WITH
    api AS (
        SELECT
            process_id,
            thread_id,
            (coalesce(process_id, -1), coalesce(thread_id, -1)) AS key,
            name,
            start_ns,
            end_ns
        FROM api_call
        WHERE domain IS DISTINCT FROM 'backtrace'
    ),
    waiting AS (
        SELECT
            key,
            start_ns,
            end_ns
        FROM api
        WHERE is_synchronize_call(name)
    ),
    os AS (
        SELECT
            process_id,
            thread_id,
            (coalesce(process_id, -1), coalesce(thread_id, -1)) AS key,
            start_ns,
            end_ns
        FROM os_call
    ),
    ran AS (
        SELECT
            process_id,
            thread_id,
            (coalesce(process_id, -1), coalesce(thread_id, -1)) AS key,
            start_ns,
            end_ns
        FROM cpu_slice
        WHERE end_ns IS NOT NULL
    ),
    sampled AS (
        SELECT
            process_id,
            thread_id,
            (coalesce(process_id, -1), coalesce(thread_id, -1)) AS key
        FROM cpu_sample
    ),
    someone AS (
        SELECT
            process_id,
            thread_id,
            key
        FROM api
        UNION
        SELECT
            process_id,
            thread_id,
            key
        FROM os
        UNION
        SELECT
            process_id,
            thread_id,
            key
        FROM ran
        UNION
        SELECT
            process_id,
            thread_id,
            key
        FROM sampled
    ),
    recorded_kind AS (
        SELECT
            (SELECT count(*) FROM ran) > 0 AS has_slices,
            (SELECT count(*) FROM api) > 0 AS has_api,
            (SELECT count(*) FROM os) > 0 AS has_os,
            (SELECT count(*) FROM sampled) > 0 AS has_samples
    ),
    api_count AS (
        SELECT
            key,
            count(*) AS calls,
            count(*) FILTER (WHERE is_launch_call(name)) AS launches
        FROM api
        GROUP BY key
    ),
    os_count AS (
        SELECT
            key,
            count(*) AS calls
        FROM os
        GROUP BY key
    ),
    sample_count AS (
        SELECT
            key,
            count(*) AS samples
        FROM sampled
        GROUP BY key
    )

SELECT
    someone.process_id,
    someone.thread_id,
    thread.os_tid,
    thread.name,
    CASE WHEN kind.has_slices THEN coalesce(ran_time.covered_ns, 0) END AS scheduled_ns,
    CASE WHEN kind.has_api THEN coalesce(api_count.calls, 0) END AS api_calls,
    CASE WHEN kind.has_api THEN coalesce(api_time.covered_ns, 0) END AS api_ns,
    CASE WHEN kind.has_api THEN coalesce(wait_time.covered_ns, 0) END AS sync_ns,
    CASE WHEN kind.has_api THEN coalesce(api_count.launches, 0) END AS launch_calls,
    CASE WHEN kind.has_os THEN coalesce(os_count.calls, 0) END AS os_calls,
    CASE WHEN kind.has_os THEN coalesce(os_time.covered_ns, 0) END AS os_ns,
    CASE WHEN kind.has_samples THEN coalesce(sample_count.samples, 0) END AS cpu_samples
FROM someone
CROSS JOIN recorded_kind AS kind
LEFT JOIN thread ON someone.thread_id = thread.thread_id
LEFT JOIN covered('ran') AS ran_time ON someone.key = ran_time.key
LEFT JOIN covered('api') AS api_time ON someone.key = api_time.key
LEFT JOIN covered('waiting') AS wait_time ON someone.key = wait_time.key
LEFT JOIN covered('os') AS os_time ON someone.key = os_time.key
LEFT JOIN api_count ON someone.key = api_count.key
LEFT JOIN os_count ON someone.key = os_count.key
LEFT JOIN sample_count ON someone.key = sample_count.key
ORDER BY
    scheduled_ns DESC NULLS LAST, api_ns DESC NULLS LAST, someone.process_id ASC,
    someone.thread_id ASC;
