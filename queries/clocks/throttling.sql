-- clocks.throttling: whether the clock of a GPU fell while it worked.
--
-- Sampled SM (GPC, graphics) clocks against the maximum of the device. Only samples
-- that were taken while something ran count: an idle GPU may clock down. A sample below
-- `threshold` of the maximum counts as throttled: by power, heat or a limit that was
-- set; the clock alone does not tell which.
--
-- reads:
--   counter_sample  rows
--   gpu_activity    whole
--   device          lookup
-- needs:
--   counter_sample
-- parameters:
--   threshold  DOUBLE = 0.95   Share of the maximum clock below which it is throttled.
-- columns:
--   device_id        INTEGER  The device, as in the device table.
--   metric           VARCHAR  The clock that was sampled.
--   samples          BIGINT   Samples that were taken.
--   busy_samples     BIGINT   Those taken while something ran.
--   throttled        BIGINT   Busy samples below the threshold; NULL where the maximum
--                             is not known.
--   throttled_share  DOUBLE   throttled over busy_samples, 0 to 1.
--   max_clock_hz     BIGINT   Maximum SM clock of the device.
--   busy_mean_hz     DOUBLE   Mean of the busy samples.
--   busy_min_hz      DOUBLE   Lowest busy sample.
--   busy_max_hz      DOUBLE   Highest busy sample.
--   mean_share       DOUBLE   busy_mean_hz over max_clock_hz.

WITH
    clocked AS (
        SELECT
            device_id,
            metric,
            time_ns,
            value * CASE lower(unit)
                WHEN 'hz' THEN 1
                WHEN 'khz' THEN 1e3
                WHEN 'mhz' THEN 1e6
                WHEN 'ghz' THEN 1e9
            END AS clock_hz
        FROM counter_sample
        WHERE
            device_id IS NOT NULL
            AND regexp_matches(metric, '(?i)clock')
            AND regexp_matches(metric, '(?i)\b(gpc|sm|graphics|gr)\b|_(gpc|sm|gr)_?')
            AND lower(unit) IN ('hz', 'khz', 'mhz', 'ghz')
    ),
    work AS (
        SELECT
            device_id AS key,
            start_ns,
            end_ns
        FROM gpu_activity
        WHERE end_ns > start_ns
    ),
    busy AS (
        SELECT *
        FROM merged('work')
    ),
    judged AS (
        SELECT
            clocked.device_id,
            clocked.metric,
            clocked.clock_hz,
            coalesce(clocked.time_ns < busy.end_ns, FALSE) AS is_busy
        FROM clocked
        ASOF LEFT JOIN busy
            ON clocked.device_id = busy.key AND clocked.time_ns >= busy.start_ns
    ),
    summed AS (
        SELECT
            judged.device_id,
            judged.metric,
            device.max_clock_hz,
            count(*) AS samples,
            count(*) FILTER (WHERE judged.is_busy) AS busy_samples,
            count(*) FILTER (
                WHERE
                judged.is_busy
                AND judged.clock_hz < $threshold::DOUBLE * device.max_clock_hz
            ) AS throttled,
            avg(judged.clock_hz) FILTER (WHERE judged.is_busy) AS busy_mean_hz,
            min(judged.clock_hz) FILTER (WHERE judged.is_busy) AS busy_min_hz,
            max(judged.clock_hz) FILTER (WHERE judged.is_busy) AS busy_max_hz
        FROM judged
        LEFT JOIN device ON judged.device_id = device.device_id
        GROUP BY judged.device_id, judged.metric, device.max_clock_hz
    )

SELECT
    device_id,
    metric,
    samples,
    busy_samples,
    CASE WHEN max_clock_hz IS NOT NULL THEN throttled END AS throttled,
    CASE WHEN max_clock_hz IS NOT NULL THEN throttled / nullif(busy_samples, 0) END
        AS throttled_share,
    max_clock_hz,
    busy_mean_hz,
    busy_min_hz,
    busy_max_hz,
    busy_mean_hz / max_clock_hz AS mean_share
FROM summed
ORDER BY device_id ASC, metric ASC;
