-- memory_peak: memory of each device at the moment when most was allocated, by class.
--
-- By allocator and kind of memory. One row with memory_class NULL is the whole; the
-- others add up to it, unknown included. Host memory has no device_id.
--
-- reads:
--   memory_change  lookup

WITH
    change AS MATERIALIZED (FROM recorded.memory_change),
    peak AS (
        SELECT
            device_id,
            memory_kind,
            allocator,
            max(total_bytes) AS bytes,
            arg_max(moment, (total_bytes, -moment)) AS moment,
            arg_max(time_ns, (total_bytes, -moment)) AS time_ns
        FROM change
        GROUP BY device_id, memory_kind, allocator
    ),
    part AS (
        SELECT
            change.device_id,
            change.memory_kind,
            change.allocator,
            change.memory_class,
            change.class_source,
            sum(change.change_bytes)::BIGINT AS bytes,
            any_value(peak.time_ns) AS time_ns
        FROM change
        INNER JOIN peak
            ON
                change.device_id IS NOT DISTINCT FROM peak.device_id
                AND change.memory_kind = peak.memory_kind
                AND change.allocator = peak.allocator
                AND change.moment <= peak.moment
        GROUP BY
            change.device_id, change.memory_kind, change.allocator,
            change.memory_class, change.class_source
        HAVING sum(change.change_bytes) <> 0
    )

SELECT
    device_id,
    memory_kind,
    allocator,
    NULL AS memory_class,
    bytes,
    time_ns,
    NULL AS class_source
FROM peak
UNION ALL
SELECT
    device_id,
    memory_kind,
    allocator,
    memory_class,
    sum(bytes)::BIGINT AS bytes,
    any_value(time_ns) AS time_ns,
    string_agg(class_source, '+' ORDER BY class_source) AS class_source
FROM part
GROUP BY device_id, memory_kind, allocator, memory_class;
