-- memory_change: what is allocated over time: every change, its class and the total.
--
-- `change_bytes` is added at `time_ns`; `total_bytes` is what is allocated then, of the
-- same device, kind of memory and allocator, over all processes. Where the allocator's
-- own total was recorded, what it held before the recording is the first change, of
-- class unknown, and the release of what was not seen to be allocated counts too;
-- elsewhere neither is known, and both are left out.
--
-- reads:
--   memory_order  lookup
--   memory_block  lookup

WITH
    signed AS (
        SELECT
            place,
            process_id,
            device_id,
            memory_kind,
            allocator,
            time_ns,
            address,
            memory_class,
            CASE WHEN memory_class <> 'unknown' THEN coalesce(class_source, 'profiler')
            END AS class_source,
            total_allocated_bytes,
            kind,
            CASE
                WHEN kind IN ('free', 'class_out') THEN -bytes
                ELSE bytes
            END AS change_bytes
        FROM recorded.memory_order
    ),
    block AS MATERIALIZED (FROM recorded.memory_block),
    before AS (
        SELECT
            process_id,
            device_id,
            memory_kind,
            allocator,
            min(place) - 1 AS place,
            arg_min(time_ns, place) AS time_ns,
            arg_min(total_allocated_bytes - change_bytes, place) AS change_bytes
        FROM signed
        WHERE total_allocated_bytes IS NOT NULL
        GROUP BY process_id, device_id, memory_kind, allocator
        -- Where what was held is listed block by block, nothing else was.
        HAVING NOT bool_or(kind = 'held')
    ),
    change AS (
        SELECT
            place,
            device_id,
            memory_kind,
            allocator,
            time_ns,
            'unknown' AS memory_class,
            NULL AS class_source,
            change_bytes
        FROM before
        WHERE change_bytes > 0
        UNION ALL
        SELECT
            place,
            device_id,
            memory_kind,
            allocator,
            start_ns AS time_ns,
            memory_class,
            class_source,
            bytes AS change_bytes
        FROM block
        UNION ALL
        SELECT
            end_place AS place,
            device_id,
            memory_kind,
            allocator,
            end_ns AS time_ns,
            memory_class,
            class_source,
            -bytes AS change_bytes
        FROM block
        WHERE end_place IS NOT NULL
        UNION ALL
        -- Without addresses nothing can be paired: each event says its class itself.
        SELECT
            place,
            device_id,
            memory_kind,
            allocator,
            time_ns,
            coalesce(memory_class, 'unknown') AS memory_class,
            class_source,
            change_bytes
        FROM signed
        WHERE address IS NULL OR kind IN ('class_in', 'class_out')
        UNION ALL
        SELECT
            signed.place,
            signed.device_id,
            signed.memory_kind,
            signed.allocator,
            signed.time_ns,
            'unknown' AS memory_class,
            NULL AS class_source,
            signed.change_bytes
        FROM signed
        SEMI JOIN before
            ON
                signed.process_id IS NOT DISTINCT FROM before.process_id
                AND signed.device_id IS NOT DISTINCT FROM before.device_id
                AND signed.memory_kind = before.memory_kind
                AND signed.allocator = before.allocator
        ANTI JOIN block ON signed.place = block.end_place
        WHERE signed.kind = 'free' AND signed.address IS NOT NULL
    )

SELECT
    *,
    sum(change_bytes) OVER (
        PARTITION BY device_id, memory_kind, allocator
        ORDER BY place, change_bytes
        ROWS UNBOUNDED PRECEDING
    )::BIGINT AS total_bytes,
    row_number() OVER (
        PARTITION BY device_id, memory_kind, allocator
        ORDER BY place, change_bytes
    ) AS moment
FROM change;
