-- memory.timeline: what is allocated over time, by class.
--
-- The time of a device's allocations is cut into `bins` equal parts. Each part shows
-- the moment at which most was allocated in it, what was carried into it included; the
-- classes of a part add up to total_bytes.
--
-- reads:
--   memory_change  lookup
-- needs:
--   memory_event
-- parameters:
--   bins  BIGINT = 50   Parts to cut the time into.
-- columns:
--   device_id     INTEGER  The device, as in the device table; NULL for host memory.
--   memory_kind   VARCHAR  Kind of the memory: device, pinned, pageable, ...
--   allocator     VARCHAR  Who gave it.
--   bin           BIGINT   Number of the part, from 0.
--   start_ns      BIGINT   When it begins.
--   end_ns        BIGINT   When it ends.
--   memory_class  VARCHAR  What the memory holds.
--   bytes         BIGINT   Bytes of this class when most was allocated in the part.
--   total_bytes   BIGINT   Bytes of all classes then.

WITH
    change AS MATERIALIZED (
        SELECT
            *,
            dense_rank() OVER (
                ORDER BY device_id ASC NULLS LAST, memory_kind ASC, allocator ASC
            ) AS pool
        FROM memory_change
        WHERE time_ns IS NOT NULL
    ),
    span AS (
        SELECT
            pool,
            any_value(device_id) AS device_id,
            any_value(memory_kind) AS memory_kind,
            any_value(allocator) AS allocator,
            min(time_ns) AS start_ns,
            max(time_ns) + 1 AS end_ns
        FROM change
        GROUP BY pool
    ),
    numbered AS (
        SELECT
            *,
            unnest(range(greatest($bins, 1)::BIGINT)) AS bin
        FROM span
    ),
    -- Exact in integers also for long times: a product of both would not fit.
    cut AS (
        SELECT
            *,
            (
                start_ns + (end_ns - start_ns)::HUGEINT * bin // greatest($bins, 1)
            )::BIGINT AS part_start_ns,
            (
                start_ns
                + (end_ns - start_ns)::HUGEINT * (bin + 1) // greatest($bins, 1)
            )::BIGINT AS part_end_ns
        FROM numbered
    ),
    -- Of parts that coincide, where they are shorter than a nanosecond, one counts.
    part AS (
        SELECT
            pool,
            device_id,
            memory_kind,
            allocator,
            min(bin) AS bin,
            part_start_ns AS start_ns,
            max(part_end_ns) AS end_ns
        FROM cut
        GROUP BY pool, device_id, memory_kind, allocator, part_start_ns
    ),
    instant AS (
        SELECT
            pool,
            time_ns,
            max(moment) AS moment,
            arg_max(total_bytes, moment) AS total_bytes
        FROM change
        GROUP BY pool, time_ns
    ),
    -- What is carried into a part is the state after the last change before it.
    carried AS (
        SELECT
            part.pool,
            part.bin,
            instant.moment,
            instant.total_bytes
        FROM part
        ASOF INNER JOIN instant
            ON part.pool = instant.pool AND part.start_ns > instant.time_ns
    ),
    seen AS (
        SELECT
            change.pool,
            part.bin,
            change.moment,
            change.total_bytes
        FROM change
        ASOF INNER JOIN part
            ON change.pool = part.pool AND change.time_ns >= part.start_ns
        UNION ALL
        SELECT
            pool,
            bin,
            moment,
            total_bytes
        FROM carried
    ),
    fullest AS (
        SELECT
            pool,
            bin,
            arg_max(moment, (total_bytes, -moment)) AS moment,
            max(total_bytes) AS total_bytes
        FROM seen
        GROUP BY pool, bin
    ),
    class_total AS (
        SELECT
            pool,
            memory_class,
            moment,
            sum(change_bytes) OVER (
                PARTITION BY pool, memory_class
                ORDER BY moment
                ROWS UNBOUNDED PRECEDING
            )::BIGINT AS bytes
        FROM change
    ),
    class AS (
        SELECT DISTINCT
            pool,
            memory_class
        FROM change
    ),
    wanted AS (
        SELECT
            fullest.pool,
            fullest.bin,
            fullest.moment,
            fullest.total_bytes,
            class.memory_class
        FROM fullest
        INNER JOIN class ON fullest.pool = class.pool
    )

SELECT
    part.device_id,
    part.memory_kind,
    nullif(part.allocator, '') AS allocator,
    part.bin,
    part.start_ns,
    part.end_ns,
    wanted.memory_class,
    coalesce(class_total.bytes, 0)::BIGINT AS bytes,
    wanted.total_bytes
FROM wanted
INNER JOIN part ON wanted.pool = part.pool AND wanted.bin = part.bin
ASOF LEFT JOIN class_total
    ON
        wanted.pool = class_total.pool
        AND wanted.memory_class = class_total.memory_class
        AND wanted.moment >= class_total.moment
ORDER BY
    part.device_id ASC NULLS LAST,
    part.memory_kind ASC,
    part.allocator ASC,
    part.bin ASC,
    wanted.memory_class ASC;
