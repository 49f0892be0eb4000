-- tbd.observations: the paper's recommendations as rules, each with its evidence.
--
-- The observations of "Benchmarking and Analyzing Deep Neural Network Training" (TBD,
-- IISWC 2018) as rules over this run. `holds` says whether a rule applies, `value` is
-- the number it rests on and `threshold` what it was compared with; `detail` names
-- kernels or classes, `query` shows more. A rule whose data was not recorded has holds
-- NULL and says what it needs. Thresholds are tracekit's own: the paper gives none.
--
-- reads:
--   training_metric  lookup
--   kernel           lookup
-- needs:
--   kernel
-- columns:
--   rule       VARCHAR  Short name of the rule.
--   device_id  INTEGER  The device, as in the device table; NULL if not of one.
--   holds      BOOLEAN  Whether it applies; NULL if that is not known.
--   finding    VARCHAR  What it means where it applies.
--   value      DOUBLE   The number it rests on.
--   threshold  DOUBLE   What that was compared with.
--   detail     VARCHAR  What stands out.
--   query      VARCHAR  The query that shows it.
--   reason     VARCHAR  Which data is missing.

WITH
    by_kernel AS (
        SELECT
            device_id,
            canonical_name,
            name,
            count(*) AS launches,
            sum(end_ns - start_ns)::DOUBLE AS total_ns
        FROM kernel
        GROUP BY ALL
    ),
    sorted AS (
        SELECT
            *,
            kernel_category(coalesce(canonical_name, name)) AS category
        FROM by_kernel
    ),
    shared AS (
        SELECT
            device_id,
            sum(total_ns) / sum(launches) AS mean_ns,
            coalesce(sum(total_ns) FILTER (WHERE category = 'normalization'), 0)
            / nullif(sum(total_ns), 0) AS normalization_share,
            arg_max(name, total_ns) FILTER (WHERE category = 'normalization')
                AS normalization_kernel,
            coalesce(sum(total_ns) FILTER (WHERE category = 'communication'), 0)
            / nullif(sum(total_ns), 0) AS communication_share,
            arg_max(name, total_ns) FILTER (WHERE category = 'communication')
                AS communication_kernel
        FROM sorted
        GROUP BY device_id
    ),
    summary AS MATERIALIZED (FROM training_metric),
    metric AS (
        SELECT
            device_id,
            metric,
            any_value(value) AS value,
            any_value(reason) AS reason
        FROM summary
        WHERE metric LIKE '%utilization'
        GROUP BY device_id, metric
    ),
    class AS (
        SELECT
            device_id,
            sum(value) FILTER (WHERE memory_class = 'feature_maps')
            / nullif(sum(value), 0) AS feature_share,
            sum(value) FILTER (WHERE memory_class <> 'unknown') AS known
        FROM summary
        WHERE metric = 'peak_memory_of_class'
        GROUP BY device_id
    ),
    rule AS (
        SELECT
            1 AS place,
            'launch_bound' AS rule,
            shared.device_id,
            metric.value < 0.5 AND shared.mean_ns < 20000 AS holds,
            'many short kernels leave the GPU waiting for launches: fuse them, use CUDA'
            || ' graphs or a larger batch' AS finding,
            metric.value,
            0.5 AS threshold,
            'mean kernel ' || round(shared.mean_ns)::BIGINT || ' ns' AS detail,
            'gpu.idle_attribution' AS query,
            metric.reason
        FROM shared
        LEFT JOIN metric
            ON
                shared.device_id = metric.device_id
                AND metric.metric = 'kernel_utilization'
        UNION ALL
        SELECT
            2 AS place,
            'fp32_units_idle' AS rule,
            fp32.device_id,
            fp32.value < 0.25 AS holds,
            CASE
                WHEN tensor.value > fp32.value
                    THEN 'the FP32 units idle while tensor cores work'
                ELSE 'the FP32 units are under-used while kernels run'
            END AS finding,
            fp32.value,
            0.25 AS threshold,
            'tensor cores at ' || round(tensor.value, 4) || ' of their peak' AS detail,
            'compute.pipes' AS query,
            fp32.reason
        FROM metric AS fp32
        LEFT JOIN metric AS tensor
            ON
                fp32.device_id = tensor.device_id
                AND tensor.metric = 'tensor_utilization'
        WHERE fp32.metric = 'fp32_utilization'
        UNION ALL
        SELECT
            3 AS place,
            'normalization_hotspot' AS rule,
            device_id,
            normalization_share >= 0.1 AS holds,
            'normalization takes much of the kernel time and is bound by memory'
                AS finding,
            normalization_share AS value,
            0.1 AS threshold,
            normalization_kernel AS detail,
            'kernels.by_category' AS query,
            NULL AS reason
        FROM shared
        UNION ALL
        SELECT
            4 AS place,
            'feature_maps_dominate' AS rule,
            device_id,
            CASE WHEN known > 0 THEN coalesce(feature_share, 0) > 0.5 END AS holds,
            'feature maps fill the memory: a smaller batch, recomputation or offloading'
            || ' frees most' AS finding,
            CASE WHEN known > 0 THEN coalesce(feature_share, 0) END AS value,
            0.5 AS threshold,
            NULL AS detail,
            'tbd.summary' AS query,
            CASE WHEN known IS NULL THEN 'the classes of memory are not recorded' END
                AS reason
        FROM class
        UNION ALL
        SELECT
            4 AS place,
            'feature_maps_dominate' AS rule,
            NULL AS device_id,
            NULL AS holds,
            NULL AS finding,
            NULL AS value,
            0.5 AS threshold,
            NULL AS detail,
            'tbd.summary' AS query,
            'allocations were not recorded' AS reason
        WHERE NOT EXISTS (FROM class)
        UNION ALL
        SELECT
            5 AS place,
            'cpu_idle' AS rule,
            device_id,
            value < 0.25 AS holds,
            'the CPU has time left, for input or for other jobs' AS finding,
            value,
            0.25 AS threshold,
            NULL AS detail,
            'cpu.utilization' AS query,
            reason
        FROM metric
        WHERE metric = 'cpu_utilization'
        UNION ALL
        SELECT
            6 AS place,
            'communication_bound' AS rule,
            device_id,
            communication_share >= 0.2 AS holds,
            'communication takes much of the kernel time and may limit scaling'
                AS finding,
            communication_share AS value,
            0.2 AS threshold,
            communication_kernel AS detail,
            'overlap.comm_compute' AS query,
            NULL AS reason
        FROM shared
        UNION ALL
        SELECT
            7 AS place,
            'batch_size_saturated' AS rule,
            NULL AS device_id,
            NULL AS holds,
            NULL AS finding,
            NULL AS value,
            NULL AS threshold,
            NULL AS detail,
            'tbd.batch_sweep' AS query,
            'needs runs of several batch sizes' AS reason

    )

SELECT
    rule,
    device_id,
    holds,
    CASE WHEN holds THEN finding END AS finding,
    value,
    threshold::DOUBLE AS threshold,
    detail,
    query,
    CASE WHEN holds IS NULL THEN reason END AS reason
FROM rule
ORDER BY place ASC, device_id ASC;
