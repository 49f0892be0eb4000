-- memory_peak: memory of each GPU at the moment when most was allocated, by class.
--
-- Running total of allocations and frees, by allocator; what was allocated before the
-- recording began is not in it. One row with memory_class NULL is the whole; the others
-- add up to it.
--
-- reads:
--   memory_event  lookup

WITH
    -- A free of what was allocated before the recording began counts nothing.
    allocation AS (
        SELECT
            device_id,
            coalesce(allocator, '') AS allocator,
            process_id,
            address,
            time_ns,
            kind,
            bytes,
            coalesce(memory_class, 'unknown') AS memory_class,
            CASE kind
                WHEN 'allocate' THEN bytes
                WHEN 'held' THEN bytes
                WHEN 'free' THEN -bytes
                ELSE 0
            END AS change
        FROM recorded.memory_event
        WHERE
            kind IN ('allocate', 'held', 'free', 'class_in')
            AND coalesce(memory_kind, 'device') NOT IN ('pageable', 'pinned')
            AND device_id IS NOT NULL
        QUALIFY
            kind <> 'free'
            OR coalesce(
                lag(kind) OVER (
                    PARTITION BY device_id, allocator, process_id, address
                    ORDER BY time_ns, change
                ),
                'free'
            ) <> 'free'
    ),
    allocated AS (
        SELECT
            device_id,
            allocator,
            time_ns,
            sum(change) OVER (
                PARTITION BY device_id, allocator
                ORDER BY time_ns, change
                ROWS UNBOUNDED PRECEDING
            )::BIGINT AS total
        FROM allocation
    ),
    peak AS (
        SELECT
            device_id,
            allocator,
            max(total) AS bytes,
            arg_max(time_ns, (total, -time_ns)) AS time_ns
        FROM allocated
        GROUP BY device_id, allocator
    ),
    block AS (
        SELECT
            allocation.device_id,
            allocation.allocator,
            arg_max(
                CASE WHEN allocation.kind <> 'free' THEN allocation.bytes END,
                (allocation.time_ns, allocation.change)
            ) AS bytes,
            arg_max(
                allocation.memory_class, (allocation.time_ns, allocation.change)
            ) AS memory_class
        FROM allocation
        INNER JOIN peak
            ON
                allocation.device_id = peak.device_id
                AND allocation.allocator = peak.allocator
                AND allocation.time_ns <= peak.time_ns
        GROUP BY
            allocation.device_id, allocation.allocator, allocation.process_id,
            allocation.address
        HAVING
            arg_max(allocation.kind, (allocation.time_ns, allocation.change)) <> 'free'
    )

SELECT
    device_id,
    allocator,
    NULL AS memory_class,
    bytes,
    time_ns
FROM peak
UNION ALL
SELECT
    block.device_id,
    block.allocator,
    block.memory_class,
    sum(block.bytes)::BIGINT AS bytes,
    any_value(peak.time_ns) AS time_ns
FROM block
INNER JOIN peak
    ON block.device_id = peak.device_id AND block.allocator = peak.allocator
GROUP BY block.device_id, block.allocator, block.memory_class;
