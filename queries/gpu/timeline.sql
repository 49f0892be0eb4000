-- gpu.timeline: how busy each GPU was in each of many equal parts of the window.
--
-- The window of a device is cut into `bins` parts, equal but for the rounding of their
-- edges; where it has several spans, from the first to the last. Their busy times add
-- up to those of gpu.utilization.
--
-- reads:
--   gpu_activity  clip
--   time_window   lookup
-- parameters:
--   bins  BIGINT = 50   Parts to cut the window into.
-- columns:
--   device_id           INTEGER  The device, as in the device table.
--   bin                 BIGINT   Number of the part, from 0.
--   start_ns            BIGINT   When it begins.
--   end_ns              BIGINT   When it ends.
--   kernel_busy_ns      BIGINT   Time in which a kernel ran.
--   gpu_busy_ns         BIGINT   Time in which a kernel, a copy, a fill or a graph ran.
--   kernel_utilization  DOUBLE   kernel_busy_ns over the length of the part, 0 to 1.
--   gpu_utilization     DOUBLE   gpu_busy_ns over the length of the part, 0 to 1.

WITH
    work AS (
        SELECT
            device_id AS key,
            CASE WHEN activity = 'kernel' THEN 0 ELSE 1 END AS layer,
            start_ns,
            end_ns
        FROM gpu_activity
    ),
    whole AS (
        SELECT
            device_id,
            min(start_ns) AS start_ns,
            max(end_ns) AS end_ns
        FROM time_window
        GROUP BY device_id
    ),
    edge AS (
        SELECT
            device_id,
            start_ns,
            end_ns,
            unnest(range(greatest($bins, 1)::BIGINT + 1)) AS bin
        FROM whole
    ),
    -- Exact in integers also for long windows: a product of both would not fit.
    cut AS (
        SELECT
            device_id AS key,
            bin,
            (
                start_ns + (end_ns - start_ns)::HUGEINT * bin // greatest($bins, 1)
            )::BIGINT AS time_ns
        FROM edge
    ),
    -- Of edges that coincide, where bins are shorter than a nanosecond, one counts.
    numbered AS (
        SELECT
            key,
            time_ns,
            min(bin) AS bin
        FROM cut
        GROUP BY key, time_ns
    )

SELECT
    part.key AS device_id,
    numbered.bin,
    part.start_ns,
    part.end_ns,
    part.layer_0_ns AS kernel_busy_ns,
    part.layer_0_ns + part.layer_1_ns AS gpu_busy_ns,
    part.layer_0_ns / (part.end_ns - part.start_ns) AS kernel_utilization,
    (part.layer_0_ns + part.layer_1_ns) / (part.end_ns - part.start_ns)
        AS gpu_utilization
FROM cover('work', 'cut') AS part
INNER JOIN numbered
    ON part.key = numbered.key AND part.start_ns = numbered.time_ns
ORDER BY part.key ASC, part.start_ns ASC;
