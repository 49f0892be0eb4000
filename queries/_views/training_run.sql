-- training_run: the paper's metrics of a run as one row, to compare runs.
--
-- No row where no steps are known, unless a workload's record says why there are none.
-- Batch size is what the record says it was set to, else the mean of the samples of the
-- stable steps of a process; utilizations are means over the GPUs.
--
-- reads:
--   training_metric  lookup
--   stable_step      lookup
--   run_fact         lookup
--   process          lookup

WITH
    stepped AS (
        SELECT
            avg(samples) AS batch_size,
            min(unit) AS unit,
            median(end_ns - start_ns) AS step_ns,
            count(*) AS steps
        FROM recorded.stable_step
        WHERE stable
    ),
    fact AS (
        SELECT
            max(value) FILTER (WHERE key IN ('framework', 'workload.framework'))
                AS framework,
            max(value) FILTER (WHERE key IN ('workload', 'workload.name', 'model'))
                AS model,
            max(try_cast(value AS DOUBLE)) FILTER (WHERE key = 'workload.batch_size')
                AS batch_size,
            max(value) FILTER (WHERE key = 'workload.unit') AS unit,
            max(value) FILTER (WHERE key = 'workload.outcome') AS outcome
        FROM recorded.run_fact
    ),
    ran AS (
        SELECT count(*) AS processes
        FROM recorded.process
    ),
    wide AS (
        SELECT
            count(DISTINCT device_id) FILTER (
                WHERE metric = 'gpu_utilization'
            ) AS devices,
            max(value) FILTER (WHERE metric = 'throughput') AS samples_per_second,
            avg(value) FILTER (WHERE metric = 'kernel_utilization')
                AS kernel_utilization,
            avg(value) FILTER (WHERE metric = 'fp32_utilization') AS fp32_utilization,
            avg(value) FILTER (WHERE metric = 'cpu_utilization') AS cpu_utilization,
            max(value) FILTER (WHERE metric = 'peak_memory')::BIGINT
                AS peak_memory_bytes
        FROM recorded.training_metric
    )

SELECT
    fact.framework,
    fact.model,
    wide.devices,
    ran.processes,
    coalesce(fact.batch_size, stepped.batch_size) AS batch_size,
    fact.outcome,
    wide.samples_per_second,
    coalesce(stepped.unit, fact.unit) AS unit,
    stepped.step_ns,
    wide.kernel_utilization,
    wide.fp32_utilization,
    wide.cpu_utilization,
    wide.peak_memory_bytes
FROM stepped
CROSS JOIN wide
CROSS JOIN fact
CROSS JOIN ran
WHERE stepped.steps > 0 OR fact.outcome = 'out_of_memory';
