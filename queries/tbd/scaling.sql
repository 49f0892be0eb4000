-- tbd.scaling: throughput of runs by the number of GPUs.
--
-- Ask it of the runs of one job on more and more GPUs: one row a run, all ranks
-- together. Throughput is the samples of all ranks; by GPU it shows what is lost.
--
-- reads:
--   training_run  lookup
-- needs:
--   step
-- scope: run
-- columns:
--   devices             BIGINT   GPUs that were used.
--   processes           BIGINT   Processes of the run.
--   batch_size          DOUBLE   Samples of a step of one process.
--   samples_per_second_of_device  DOUBLE  Throughput over the GPUs.
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
    devices,
    processes,
    batch_size,
    samples_per_second / nullif(devices, 0) AS samples_per_second_of_device,
    samples_per_second,
    unit,
    step_ns,
    kernel_utilization,
    fp32_utilization,
    cpu_utilization,
    peak_memory_bytes
FROM training_run
ORDER BY devices ASC, processes ASC;
