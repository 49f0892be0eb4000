-- kernels.duration_histogram: how long kernels run, in classes that double.
--
-- Many short kernels are bound by their launches, a few long ones are worth a closer
-- look. A kernel of length 0 is in the class from 0 to 1 ns.
--
-- reads:
--   kernel  rows
-- columns:
--   device_id     INTEGER  The device, as in the device table.
--   from_ns       BIGINT   Kernels of the class run at least as long.
--   to_ns         BIGINT   They run for less time than this.
--   launches      BIGINT   Launches that were counted.
--   launch_share  DOUBLE   launches over all of the device, 0 to 1.
--   total_ns      BIGINT   Summed duration.
--   time_share    DOUBLE   total_ns over that of all kernels of the device, 0 to 1.

WITH
    classed AS (
        SELECT
            device_id,
            end_ns - start_ns AS duration_ns,
            floor(log2(nullif(end_ns - start_ns, 0)))::INTEGER AS class
        FROM kernel
    ),
    per_class AS (
        SELECT
            device_id,
            class,
            count(*) AS launches,
            sum(duration_ns)::BIGINT AS total_ns
        FROM classed
        GROUP BY device_id, class
    )

SELECT
    device_id,
    CASE WHEN class IS NULL THEN 0 ELSE 1::BIGINT << class END AS from_ns,
    CASE WHEN class IS NULL THEN 1 ELSE 2::BIGINT << class END AS to_ns,
    launches,
    launches / sum(launches) OVER (PARTITION BY device_id) AS launch_share,
    total_ns,
    total_ns / nullif(sum(total_ns) OVER (PARTITION BY device_id), 0) AS time_share
FROM per_class
ORDER BY device_id ASC, from_ns ASC;
