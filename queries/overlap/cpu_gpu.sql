-- overlap.cpu_gpu: in which part of the time CPU and GPU work at once.
--
-- The four parts add up to the window exactly. The GPU works while anything of
-- gpu_activity runs. When the CPU works is what `basis` says: `api` counts every
-- CUDA API call (with the backtrace that the profiler took of it, if any),
-- `api_working` those that do not synchronize, since waiting is no work. `operators`
-- counts framework operators, `annotations` ranges, `scheduled` the time in which a
-- thread was on a core. All processes that used the device count, and no other.
--
-- reads:
--   gpu_activity  clip
--   api_call      lookup
--   operator      lookup
--   annotation    lookup
--   cpu_slice     lookup
--   time_window   lookup
-- parameters:
--   basis  VARCHAR = api    One of api, api_working, operators, annotations or
--                           scheduled: what counts as work of the CPU.
-- columns:
--   device_id    INTEGER  The device, as in the device table.
--   basis        VARCHAR  What counts as work of the CPU.
--   window_ns    BIGINT   Length of the window.
--   both_ns      BIGINT   Time in which both worked.
--   cpu_only_ns  BIGINT   Time in which the CPU alone worked.
--   gpu_only_ns  BIGINT   Time in which the GPU alone worked.
--   neither_ns   BIGINT   Time in which neither worked.

WITH
    gpu AS (
        SELECT
            device_id AS key,
            start_ns,
            end_ns
        FROM gpu_activity
    ),
    user_process AS (
        SELECT DISTINCT
            device_id,
            process_id
        FROM gpu_activity
    ),
    host_work AS (
        SELECT
            process_id,
            start_ns,
            end_ns
        FROM api_call
        WHERE
            $basis = 'api'
            OR ($basis = 'api_working' AND NOT is_synchronize_call(name))
        UNION ALL
        SELECT
            process_id,
            start_ns,
            end_ns
        FROM operator
        WHERE $basis = 'operators'
        UNION ALL
        SELECT
            process_id,
            start_ns,
            end_ns
        FROM annotation
        WHERE $basis = 'annotations' AND kind <> 'mark' AND end_ns IS NOT NULL
        UNION ALL
        SELECT
            process_id,
            start_ns,
            end_ns
        FROM cpu_slice
        WHERE $basis = 'scheduled' AND end_ns IS NOT NULL
    ),
    cpu AS (
        SELECT
            time_window.device_id AS key,
            greatest(host_work.start_ns, time_window.start_ns) AS start_ns,
            least(host_work.end_ns, time_window.end_ns) AS end_ns
        FROM host_work
        INNER JOIN user_process ON host_work.process_id = user_process.process_id
        INNER JOIN time_window
            ON
                user_process.device_id = time_window.device_id
                AND host_work.start_ns < time_window.end_ns
                AND host_work.end_ns > time_window.start_ns
    ),
    either AS (
        FROM gpu
        UNION ALL
        FROM cpu
    ),
    lengths AS (
        SELECT
            device_id,
            sum(end_ns - start_ns)::BIGINT AS window_ns
        FROM time_window
        GROUP BY device_id
    ),
    times AS (
        SELECT
            lengths.device_id,
            lengths.window_ns,
            coalesce(gpu_time.covered_ns, 0) AS gpu_ns,
            coalesce(cpu_time.covered_ns, 0) AS cpu_ns,
            coalesce(either_time.covered_ns, 0) AS either_ns
        FROM lengths
        LEFT JOIN covered('gpu') AS gpu_time ON lengths.device_id = gpu_time.key
        LEFT JOIN covered('cpu') AS cpu_time ON lengths.device_id = cpu_time.key
        LEFT JOIN covered('either') AS either_time
            ON lengths.device_id = either_time.key
    )

SELECT
    device_id,
    $basis AS basis,
    window_ns,
    gpu_ns + cpu_ns - either_ns AS both_ns,
    either_ns - gpu_ns AS cpu_only_ns,
    either_ns - cpu_ns AS gpu_only_ns,
    window_ns - either_ns AS neither_ns
FROM times
ORDER BY device_id ASC;
