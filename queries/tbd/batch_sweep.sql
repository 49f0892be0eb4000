-- tbd.batch_sweep: throughput, utilization and memory of runs by batch size.
--
-- Ask it of the runs of a sweep: one row a run. The batch size is what a workload's
-- record says, else the mean of the samples of the stable steps of a process. Where
-- throughput stops to rise with it, the GPU is saturated; where `outcome` is
-- out_of_memory, its memory did not suffice, and the last steps may be missing.
--
-- reads:
--   training_run  lookup
-- needs:
--   step|run_fact
-- columns:
--   batch_size          DOUBLE   Samples of a step.
--   outcome             VARCHAR  done or out_of_memory; NULL without a record.
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
    batch_size,
    outcome,
    samples_per_second,
    unit,
    step_ns,
    kernel_utilization,
    fp32_utilization,
    cpu_utilization,
    peak_memory_bytes
FROM training_run
ORDER BY batch_size ASC;
