-- tbd.framework_comparison: the same model in several frameworks, side by side.
--
-- Ask it of runs of one model: one row a run. Framework and model are what the run's
-- facts say; NULL where they are not recorded.
--
-- reads:
--   training_run  lookup
-- needs:
--   step
-- columns:
--   framework           VARCHAR  Framework, as recorded.
--   model               VARCHAR  Model, as recorded.
--   batch_size          DOUBLE   Samples of a step.
--   samples_per_second  DOUBLE   Throughput over the stable steps; NULL where the
--                               samples are not recorded.
--   unit                VARCHAR  What a sample is.
--   step_ns             DOUBLE   Median duration of the stable steps.
--   kernel_utilization  DOUBLE   Mean over the GPUs, 0 to 1.
--   fp32_utilization    DOUBLE   Mean over the GPUs, by counters; NULL without.
--   cpu_utilization     DOUBLE   Of the cores, 0 to 1; NULL where not recorded.
--   peak_memory_bytes   BIGINT   Largest memory at a time of a GPU; NULL where not
--                               recorded.

SELECT
    framework,
    model,
    batch_size,
    samples_per_second,
    unit,
    step_ns,
    kernel_utilization,
    fp32_utilization,
    cpu_utilization,
    peak_memory_bytes
FROM training_run
ORDER BY framework ASC, model ASC, batch_size ASC;
