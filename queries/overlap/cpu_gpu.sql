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
-- needs:
--   gpu_activity
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
    user_process AS (
        SELECT DISTINCT
            device_id,
            process_id
        FROM recorded.gpu_activity
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
    work AS (
        SELECT
            device_id,
            start_ns,
            end_ns,
            FALSE AS is_cpu
        FROM gpu_activity
        UNION ALL
        SELECT
            time_window.device_id,
            greatest(host_work.start_ns, time_window.start_ns) AS start_ns,
            least(host_work.end_ns, time_window.end_ns) AS end_ns,
            TRUE AS is_cpu
        FROM host_work
        INNER JOIN user_process ON host_work.process_id = user_process.process_id
        INNER JOIN time_window
            ON
                user_process.device_id = time_window.device_id
                AND host_work.start_ns < time_window.end_ns
                AND host_work.end_ns > time_window.start_ns
    ),
    -- How far each union over the earlier rows reaches, all in one sort: `covered`
    -- would sort three times.
    reached AS (
        SELECT
            device_id,
            start_ns,
            end_ns,
            is_cpu,
            max(end_ns) FILTER (WHERE NOT is_cpu) OVER earlier AS gpu_to,
            max(end_ns) FILTER (WHERE is_cpu) OVER earlier AS cpu_to
        FROM work
        WINDOW
            earlier AS (
                PARTITION BY device_id
                ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )
    ),
    added AS (
        SELECT
            device_id,
            is_cpu,
            sum(
                greatest(
                    end_ns
                    - greatest(
                        start_ns, CASE WHEN is_cpu THEN cpu_to ELSE gpu_to END
                    ),
                    0
                )
            )::BIGINT AS own_ns,
            sum(greatest(end_ns - greatest(start_ns, gpu_to, cpu_to), 0))::BIGINT
                AS either_ns
        FROM reached
        GROUP BY device_id, is_cpu
    ),
    times AS (
        SELECT
            device_id,
            coalesce(sum(own_ns) FILTER (WHERE NOT is_cpu), 0)::BIGINT AS gpu_ns,
            coalesce(sum(own_ns) FILTER (WHERE is_cpu), 0)::BIGINT AS cpu_ns,
            sum(either_ns)::BIGINT AS either_ns
        FROM added
        GROUP BY device_id
    ),
    lengths AS (
        SELECT
            device_id,
            sum(end_ns - start_ns)::BIGINT AS window_ns
        FROM time_window
        GROUP BY device_id
    )

SELECT
    lengths.device_id,
    $basis AS basis,
    lengths.window_ns,
    coalesce(times.gpu_ns + times.cpu_ns - times.either_ns, 0) AS both_ns,
    coalesce(times.either_ns - times.gpu_ns, 0) AS cpu_only_ns,
    coalesce(times.either_ns - times.cpu_ns, 0) AS gpu_only_ns,
    lengths.window_ns - coalesce(times.either_ns, 0) AS neither_ns
FROM lengths
LEFT JOIN times ON lengths.device_id = times.device_id
ORDER BY lengths.device_id ASC;
