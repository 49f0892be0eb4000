-- training_metric: the paper's metrics of a run, each with its source and window.
--
-- Over the stable steps, from the start of the first to the later of the end of the
-- last and the end of the GPU work launched in them; over all GPU activity where no
-- steps are known. One row a metric, and a device or memory class where it has one;
-- `value` is NULL, and `reason` says why, where it was not recorded. Kernels count
-- whole for FP32 and tensor work if they start in the window.
--
-- reads:
--   stable_step     lookup
--   api_call        lookup
--   gpu_activity    lookup
--   user_process    lookup
--   kernel          lookup
--   kernel_counter  lookup
--   device          lookup
--   cpu_slice       lookup
--   run_fact        lookup
--   counter_sample  lookup
--   memory_peak     lookup

WITH
    stable AS (
        SELECT
            min(start_ns) AS start_ns,
            max(end_ns) AS end_ns,
            count(*) AS steps,
            count(DISTINCT process_id) AS processes,
            CASE WHEN bool_and(samples IS NOT NULL) THEN sum(samples) END AS samples,
            median(end_ns - start_ns) AS step_ns,
            min(unit) AS unit,
            min(source) AS source
        FROM recorded.stable_step
        WHERE stable
    ),
    launching AS (
        SELECT
            api_call.process_id,
            api_call.correlation_id
        FROM recorded.api_call AS api_call
        INNER JOIN stable
            ON
                api_call.start_ns >= stable.start_ns
                AND api_call.start_ns < stable.end_ns
    ),
    last_work AS (
        SELECT max(activity.end_ns) AS end_ns
        FROM recorded.gpu_activity AS activity
        SEMI JOIN launching
            ON
                activity.process_id = launching.process_id
                AND activity.correlation_id = launching.correlation_id
    ),
    whole AS (
        SELECT
            min(start_ns) AS start_ns,
            max(end_ns) AS end_ns
        FROM recorded.gpu_activity
    ),
    span AS (
        SELECT
            coalesce(stable.start_ns, whole.start_ns) AS start_ns,
            CASE
                WHEN stable.start_ns IS NULL THEN whole.end_ns
                ELSE greatest(stable.end_ns, last_work.end_ns)
            END AS end_ns,
            CASE WHEN stable.start_ns IS NULL THEN 'run' ELSE 'stable steps' END
                AS window_name
        FROM stable
        CROSS JOIN whole
        CROSS JOIN last_work
    ),
    clipped AS (
        SELECT
            activity.device_id AS key,
            activity.activity,
            greatest(activity.start_ns, span.start_ns) AS start_ns,
            least(activity.end_ns, span.end_ns) AS end_ns
        FROM recorded.gpu_activity AS activity
        INNER JOIN span
            ON activity.start_ns < span.end_ns AND activity.end_ns > span.start_ns
    ),
    kernel_part AS NOT MATERIALIZED (
        SELECT
            key,
            start_ns,
            end_ns
        FROM clipped
        WHERE activity = 'kernel'
    ),
    used AS (
        SELECT DISTINCT device_id
        FROM recorded.user_process
    ),
    graphed AS (
        SELECT DISTINCT key
        FROM clipped
        WHERE activity = 'graph_launch'
    ),
    gpu AS NOT MATERIALIZED (FROM recorded.device),
    inside AS NOT MATERIALIZED (
        SELECT kernel.*
        FROM recorded.kernel AS kernel
        INNER JOIN span
            ON kernel.start_ns >= span.start_ns AND kernel.start_ns < span.end_ns
    ),
    every AS NOT MATERIALIZED (FROM recorded.kernel),
    counter AS NOT MATERIALIZED (FROM recorded.kernel_counter),
    measured AS (
        SELECT
            work.device_id,
            work.start_ns,
            work.end_ns,
            work.fp32_flop,
            coalesce(work.tensor_fp16_ops / peak.tensor_fp16, 0)
            + coalesce(work.tensor_bf16_ops / peak.tensor_bf16, 0)
            + coalesce(work.tensor_tf32_ops / peak.tensor_tf32, 0)
            + coalesce(work.tensor_fp64_ops / peak.tensor_fp64, 0)
            + coalesce(work.tensor_int8_ops / peak.tensor_int8, 0)
            + coalesce(work.tensor_fp8_ops / peak.tensor_fp8, 0) AS tensor_seconds,
            tensor_operations(
                work.tensor_fp16_ops, work.tensor_bf16_ops, work.tensor_tf32_ops,
                work.tensor_fp64_ops, work.tensor_int8_ops, work.tensor_fp8_ops
            ) AS tensor_ops,
            peak.fp32 AS peak
        FROM measured_kernel('counter', 'inside', 'every') AS work
        LEFT JOIN gpu_peak('gpu') AS peak ON work.device_id = peak.device_id
        WHERE work.start_ns IS NOT NULL
    ),
    fp32_part AS NOT MATERIALIZED (
        SELECT
            device_id AS key,
            start_ns,
            end_ns
        FROM measured
        WHERE fp32_flop IS NOT NULL
    ),
    tensor_part AS NOT MATERIALIZED (
        SELECT
            device_id AS key,
            start_ns,
            end_ns
        FROM measured
        WHERE tensor_ops IS NOT NULL
    ),
    counted AS (
        SELECT
            device_id,
            sum(fp32_flop) AS flop,
            any_value(peak) AS peak,
            sum(tensor_seconds) FILTER (WHERE tensor_ops IS NOT NULL) AS tensor_seconds
        FROM measured
        GROUP BY device_id
    ),
    slice AS (
        SELECT
            sum(
                greatest(
                    least(slice.end_ns, span.end_ns)
                    - greatest(slice.start_ns, span.start_ns),
                    0
                )
            ) AS tree_ns
        FROM recorded.cpu_slice AS slice
        CROSS JOIN span
        WHERE
            slice.process_id IN (
                SELECT user_process.process_id FROM recorded.user_process
            )
    ),
    core AS (
        SELECT
            coalesce(
                (
                    SELECT max(try_cast(value AS BIGINT))
                    FROM recorded.run_fact
                    WHERE key = 'cpu_cores'
                ),
                (SELECT nullif(count(DISTINCT cpu), 0) FROM recorded.cpu_slice)
            ) AS cores
    ),
    -- Of several metrics of power one counts.
    power AS (
        SELECT
            sample.device_id,
            avg(sample.value / CASE sample.unit WHEN 'mW' THEN 1000 ELSE 1 END) AS watts
        FROM recorded.counter_sample AS sample
        INNER JOIN span
            ON sample.time_ns >= span.start_ns AND sample.time_ns < span.end_ns
        WHERE
            regexp_matches(sample.metric, '(?i)power')
            AND NOT regexp_matches(sample.metric, '(?i)limit')
            AND sample.unit IN ('W', 'mW')
        GROUP BY sample.device_id, sample.metric
        QUALIFY
            row_number() OVER (
                PARTITION BY sample.device_id
                ORDER BY
                    lower(sample.metric) NOT IN ('power', 'gpu_power') ASC,
                    sample.metric ASC
            ) = 1
    ),
    -- CPU time grows: of each machine what was used between the first and the last
    -- sample of the window, over the time between the two.
    machine_cpu AS (
        SELECT
            (
                max_by(sample.value, sample.time_ns)
                - min_by(sample.value, sample.time_ns)
            )
            * 1e9
            / nullif(max(sample.time_ns) - min(sample.time_ns), 0) AS busy_cores
        FROM recorded.counter_sample AS sample
        INNER JOIN span
            ON sample.time_ns >= span.start_ns AND sample.time_ns <= span.end_ns
        WHERE
            sample.source = 'cpu' AND sample.metric = 'CPU time'
            AND sample.instance = 'process tree' AND sample.unit = 's'
        GROUP BY sample.host
    ),
    sampled_cpu AS (
        SELECT
            sum(busy_cores) AS busy_cores,
            count(*) AS machines
        FROM machine_cpu
    ),
    unprofiled AS (
        SELECT max(try_cast(value AS DOUBLE)) AS step_ns
        FROM recorded.run_fact
        WHERE key = 'baseline.step_median_ns'
    ),
    metric AS (
        SELECT
            1 AS place,
            'throughput' AS metric,
            NULL::INTEGER AS device_id,
            NULL::VARCHAR AS memory_class,
            samples * 1e9 / nullif(end_ns - start_ns, 0) AS value,
            coalesce(unit, 'samples') || '/s' AS unit,
            source,
            CASE
                WHEN steps = 0 THEN 'no steps are known'
                WHEN samples IS NULL THEN 'the samples of a step are not recorded'
            END AS reason
        FROM stable
        UNION ALL
        SELECT
            2 AS place,
            'steps_per_second' AS metric,
            NULL AS device_id,
            NULL AS memory_class,
            steps
            * 1e9
            / nullif((end_ns - start_ns) * greatest(processes, 1), 0) AS value,
            'steps/s' AS unit,
            source,
            CASE WHEN steps = 0 THEN 'no steps are known' END AS reason
        FROM stable
        UNION ALL
        SELECT
            3 AS place,
            'kernel_utilization' AS metric,
            used.device_id,
            NULL AS memory_class,
            coalesce(busy.covered_ns, 0)
            / nullif(span.end_ns - span.start_ns, 0) AS value,
            '1' AS unit,
            'timeline' AS source,
            CASE
                WHEN graphed.key IS NOT NULL THEN 'a lower bound: graphs hide kernels'
            END AS reason
        FROM used
        CROSS JOIN span
        LEFT JOIN covered('kernel_part') AS busy ON used.device_id = busy.key
        LEFT JOIN graphed ON used.device_id = graphed.key
        UNION ALL
        SELECT
            4 AS place,
            'gpu_utilization' AS metric,
            used.device_id,
            NULL AS memory_class,
            coalesce(busy.covered_ns, 0)
            / nullif(span.end_ns - span.start_ns, 0) AS value,
            '1' AS unit,
            'timeline' AS source,
            NULL AS reason
        FROM used
        CROSS JOIN span
        LEFT JOIN covered('clipped') AS busy ON used.device_id = busy.key
        UNION ALL
        SELECT
            5 AS place,
            'fp32_utilization' AS metric,
            used.device_id,
            NULL AS memory_class,
            counted.flop * 1e9 / nullif(busy.covered_ns, 0) / counted.peak AS value,
            '1' AS unit,
            'counters' AS source,
            CASE
                WHEN counted.flop IS NULL
                    THEN
                        'counters of FP32 instructions were not measured: '
                        || 'tracekit collect --counters does'
                WHEN counted.peak IS NULL THEN 'no peak is known for this GPU'
            END AS reason
        FROM used
        LEFT JOIN counted ON used.device_id = counted.device_id
        LEFT JOIN covered('fp32_part') AS busy ON used.device_id = busy.key
        UNION ALL
        SELECT
            6 AS place,
            'tensor_utilization' AS metric,
            used.device_id,
            NULL AS memory_class,
            counted.tensor_seconds * 1e9 / nullif(busy.covered_ns, 0) AS value,
            '1' AS unit,
            'counters' AS source,
            CASE
                WHEN busy.covered_ns IS NULL
                    THEN
                        'counters of tensor cores were not measured: '
                        || 'tracekit collect --counters --preset tensor does'
            END AS reason
        FROM used
        LEFT JOIN counted ON used.device_id = counted.device_id
        LEFT JOIN covered('tensor_part') AS busy ON used.device_id = busy.key
        UNION ALL
        SELECT
            7 AS place,
            'cpu_utilization' AS metric,
            NULL AS device_id,
            NULL AS memory_class,
            CASE
                WHEN slice.tree_ns IS NOT NULL
                    THEN
                        slice.tree_ns
                        / nullif(core.cores * (span.end_ns - span.start_ns), 0)
                ELSE
                    sampled_cpu.busy_cores
                    / nullif(core.cores * sampled_cpu.machines, 0)
            END AS value,
            '1' AS unit,
            CASE
                WHEN slice.tree_ns IS NOT NULL THEN 'scheduling'
                ELSE 'sampled CPU time'
            END AS source,
            CASE
                WHEN slice.tree_ns IS NOT NULL THEN NULL
                WHEN sampled_cpu.machines = 0
                    THEN
                        'neither scheduling nor CPU time in the window was recorded: '
                        || 'tracekit collect samples it'
                WHEN sampled_cpu.busy_cores IS NULL
                    THEN 'the window holds one sample of CPU time, and two are needed'
                WHEN core.cores IS NULL THEN 'the cores were not recorded'
            END AS reason
        FROM slice
        CROSS JOIN core
        CROSS JOIN span
        CROSS JOIN sampled_cpu
        UNION ALL
        SELECT
            8 AS place,
            'peak_memory' AS metric,
            device_id,
            NULL AS memory_class,
            bytes AS value,
            'B' AS unit,
            'allocator ' || allocator AS source,
            NULL AS reason
        FROM recorded.memory_peak
        WHERE
            memory_class IS NULL AND device_id IS NOT NULL
            AND memory_kind NOT IN ('pageable', 'pinned')
        UNION ALL
        SELECT
            8 AS place,
            'peak_memory' AS metric,
            NULL AS device_id,
            NULL AS memory_class,
            NULL AS value,
            'B' AS unit,
            NULL AS source,
            'allocations were not recorded' AS reason
        WHERE
            NOT EXISTS (
                FROM recorded.memory_peak
                WHERE
                    device_id IS NOT NULL
                    AND memory_kind NOT IN ('pageable', 'pinned')
            )
        UNION ALL
        SELECT
            9 AS place,
            'peak_memory_of_class' AS metric,
            device_id,
            memory_class,
            bytes AS value,
            'B' AS unit,
            'allocator ' || allocator AS source,
            NULL AS reason
        FROM recorded.memory_peak
        WHERE
            memory_class IS NOT NULL AND device_id IS NOT NULL
            AND memory_kind NOT IN ('pageable', 'pinned')
        UNION ALL
        SELECT
            10 AS place,
            'energy_per_sample' AS metric,
            power.device_id,
            NULL AS memory_class,
            power.watts * (span.end_ns - span.start_ns) / 1e9 / stable.samples AS value,
            'J' AS unit,
            'sampled power' AS source,
            CASE WHEN stable.samples IS NULL THEN 'the samples are not recorded' END
                AS reason
        FROM power
        CROSS JOIN span
        CROSS JOIN stable
        UNION ALL
        SELECT
            10 AS place,
            'energy_per_sample' AS metric,
            NULL AS device_id,
            NULL AS memory_class,
            NULL AS value,
            'J' AS unit,
            NULL AS source,
            'power was not sampled' AS reason
        WHERE NOT EXISTS (FROM power)
        UNION ALL
        SELECT
            11 AS place,
            'unprofiled_throughput' AS metric,
            NULL AS device_id,
            NULL AS memory_class,
            stable.samples
            * 1e9
            * stable.processes
            / nullif(stable.steps * unprofiled.step_ns, 0) AS value,
            coalesce(stable.unit, 'samples') || '/s' AS unit,
            'median step without the profiler' AS source,
            CASE
                WHEN unprofiled.step_ns IS NULL
                    THEN
                        'no run without the profiler was taken: '
                        || 'tracekit collect --baseline'
                WHEN stable.samples IS NULL
                    THEN 'the samples of a step are not recorded'
            END AS reason
        FROM unprofiled
        CROSS JOIN stable
        UNION ALL
        SELECT
            12 AS place,
            'profiler_slowdown' AS metric,
            NULL AS device_id,
            NULL AS memory_class,
            stable.step_ns / nullif(unprofiled.step_ns, 0) AS value,
            '1' AS unit,
            'median steps with and without the profiler' AS source,
            CASE
                WHEN unprofiled.step_ns IS NULL
                    THEN
                        'no run without the profiler was taken: '
                        || 'tracekit collect --baseline'
                WHEN stable.steps = 0 THEN 'no steps are known'
            END AS reason
        FROM unprofiled
        CROSS JOIN stable
    )

SELECT
    metric.place,
    metric.metric,
    metric.device_id,
    metric.memory_class,
    metric.value::DOUBLE AS value,
    metric.unit,
    CASE WHEN metric.value IS NOT NULL THEN metric.source END AS source,
    CASE WHEN metric.place IN (8, 9, 11) THEN 'run' ELSE span.window_name END
        AS window_name,
    metric.reason
FROM metric
CROSS JOIN span;
