-- tbd.summary: the paper's metrics of a run, each with its source and window.
--
-- The metrics of "Benchmarking and Analyzing Deep Neural Network Training" (TBD, IISWC
-- 2018): throughput, GPU compute utilization (kernel_utilization), FP32 utilization by
-- counters, CPU utilization, and memory at the moment of the peak by class; with
-- them the utilization of tensor cores, which the paper's GPUs did not have, and energy
-- a sample where power was sampled. Over the stable steps; over all GPU activity where
-- no steps are known; memory over the run. CPU utilization is from scheduling where it
-- was recorded, else from sampled CPU time of the processes. profiler_slowdown is the
-- median step with the profiler over the one without, which collect --baseline measures
-- (baseline.step_median_ns in run_fact). What was not recorded is NULL with the reason.
--
-- reads:
--   training_metric  lookup
-- needs:
--   nothing
-- columns:
--   metric        VARCHAR  Name of the metric.
--   device_id     INTEGER  The device, as in the device table; NULL if not of one.
--   memory_class  VARCHAR  Class of memory, for peak_memory_of_class.
--   value         DOUBLE   The value; utilizations are 0 to 1.
--   unit          VARCHAR  Unit of the value; 1 for a ratio.
--   source        VARCHAR  What it was computed from.
--   window_name   VARCHAR  stable steps or run.
--   reason        VARCHAR  Why there is no value, or what limits it.

SELECT
    metric,
    device_id,
    memory_class,
    value,
    unit,
    source,
    window_name,
    reason
FROM training_metric
ORDER BY
    place ASC, device_id ASC, source ASC, value DESC NULLS LAST, memory_class ASC;
