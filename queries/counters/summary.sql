-- counters.summary: mean, median and range of every sampled counter.
--
-- Samples are taken as they are: a counter that is sampled at a constant rate has its
-- mean over time here, any other the mean over its samples. A sample without a value
-- is not counted.
--
-- reads:
--   counter_sample  rows
-- scope: run
-- columns:
--   host          VARCHAR  Name of the machine.
--   source        VARCHAR  gpu, nic, cpu or nvml.
--   instance      VARCHAR  Which one, where that is no GPU or CPU core.
--   device_id     INTEGER  The device, as in the device table; NULL if not of a GPU.
--   cpu           INTEGER  CPU core; NULL if not of a core.
--   metric        VARCHAR  Name of the counter.
--   unit          VARCHAR  Unit of the values.
--   samples       BIGINT   Samples that were counted.
--   mean_value    DOUBLE   Mean.
--   median_value  DOUBLE   Median.
--   min_value     DOUBLE   Smallest.
--   max_value     DOUBLE   Largest.
--   stddev_value  DOUBLE   Sample standard deviation (n - 1), 0 for one.
--   first_ns      BIGINT   Time of the first sample.
--   last_ns       BIGINT   Time of the last sample.

SELECT
    host,
    source,
    instance,
    device_id,
    cpu,
    metric,
    unit,
    count(*) AS samples,
    avg(value) AS mean_value,
    median(value) AS median_value,
    min(value) AS min_value,
    max(value) AS max_value,
    coalesce(stddev_samp(value), 0) AS stddev_value,
    min(time_ns) AS first_ns,
    max(time_ns) AS last_ns
FROM counter_sample
WHERE value IS NOT NULL
GROUP BY host, source, instance, device_id, cpu, metric, unit
ORDER BY
    host ASC, source ASC, instance ASC, device_id ASC, cpu ASC, metric ASC, unit ASC;
