-- compute.pipe_active: how active the units of each GPU were, by sampled metrics.
--
-- Nsight Systems' GPU metrics: the share of the time in which a unit was active, as it
-- was sampled at a constant rate, so a mean over samples is one over time. It says that
-- a pipe worked, not how much: neither FLOP nor an FP32 utilization (compute.pipes and
-- compute.fp32_utilization, from counters). Which metrics there are depends on the GPU:
-- FP32 units have one on few.
--
-- reads:
--   counter_sample  rows
-- needs:
--   counter_sample
-- columns:
--   device_id      INTEGER  The device, as in the device table.
--   pipe           VARCHAR  What was active: sm, issue, tensor, fp32, fp16, graphics,
--                           dram_read, dram_write, or other.
--   metric         VARCHAR  Name of the metric.
--   samples        BIGINT   Samples that were counted.
--   mean_share     DOUBLE   Mean, 0 to 1.
--   max_share      DOUBLE   Largest, 0 to 1.
--   share_of_active  DOUBLE  Mean over that of the time in which SMs were active; NULL
--                            where they never were, or that was not sampled.

WITH
    active AS (
        SELECT
            device_id,
            metric,
            sampled_pipe(metric) AS pipe,
            count(*) AS samples,
            avg(value) / 100 AS mean_share,
            max(value) / 100 AS max_share
        FROM counter_sample
        WHERE
            source = 'gpu' AND unit = '%' AND value IS NOT NULL
            AND sampled_pipe(metric) IS NOT NULL
        GROUP BY device_id, metric
    ),
    sm AS (
        SELECT
            device_id,
            max(mean_share) AS mean_share
        FROM active
        WHERE pipe = 'sm'
        GROUP BY device_id
    )

SELECT
    active.device_id,
    active.pipe,
    active.metric,
    active.samples,
    active.mean_share,
    active.max_share,
    active.mean_share / nullif(sm.mean_share, 0) AS share_of_active
FROM active
LEFT JOIN sm ON active.device_id IS NOT DISTINCT FROM sm.device_id
ORDER BY active.device_id ASC, active.mean_share DESC, active.metric ASC;
