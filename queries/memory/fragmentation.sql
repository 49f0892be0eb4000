-- memory.fragmentation: what is reserved and not allocated, and what lies beside.
--
-- Of each allocator that reserves more than it gives out, at the moments when most was
-- allocated, when most was reserved, and at the end. Of what is reserved and free, the
-- largest piece between two blocks shows how much of it one tensor could use; it is
-- known where the segments are. Memory of the GPU that the allocator does not hold is
-- what NVML showed in use less what was reserved: the CUDA context, libraries, graphs,
-- other processes.
--
-- reads:
--   memory_change   lookup
--   memory_order    lookup
--   memory_block    lookup
--   memory_segment  lookup
--   counter_sample  lookup
--   run_fact        lookup
-- needs:
--   memory_event
-- columns:
--   device_id           INTEGER  The device, as in the device table; NULL for host
--                                memory.
--   allocator           VARCHAR  Who gave the memory.
--   moment              VARCHAR  peak_allocated, peak_reserved or end.
--   time_ns             BIGINT   When that was.
--   allocated_bytes     BIGINT   Allocated then.
--   reserved_bytes      BIGINT   Reserved then.
--   free_bytes          BIGINT   Reserved and not allocated.
--   fragmentation       DOUBLE   free_bytes over reserved_bytes, 0 to 1.
--   rounding_bytes      BIGINT   Of allocated_bytes, what was not asked for.
--   largest_free_bytes  BIGINT   Largest piece that is free; NULL if segments or
--                                blocks are not known.
--   device_used_bytes   BIGINT   In use on the whole GPU, the last sample before; NULL
--                                if it was not sampled.
--   context_bytes       BIGINT   In use by the process before the allocator reserved
--                                anything: the CUDA context; NULL if not measured.
--   outside_bytes       BIGINT   device_used_bytes - reserved_bytes.

WITH
    reserved AS (
        SELECT
            device_id,
            memory_kind,
            allocator,
            place,
            time_ns,
            total_reserved_bytes
        FROM memory_order
        WHERE total_reserved_bytes > 0
        -- What was held is listed block by block: only its last row is a state.
        QUALIFY
            kind <> 'held'
            OR lead(kind, 1, '') OVER (
                PARTITION BY device_id, memory_kind, allocator ORDER BY place
            ) <> 'held'
    ),
    change AS (
        SELECT
            device_id,
            memory_kind,
            allocator,
            place,
            arg_max(total_bytes, moment) AS total_bytes
        FROM memory_change
        GROUP BY device_id, memory_kind, allocator, place
    ),
    state AS MATERIALIZED (
        SELECT
            reserved.*,
            coalesce(change.total_bytes, 0) AS allocated_bytes
        FROM reserved
        ASOF LEFT JOIN change
            ON
                coalesce(reserved.device_id, -1) = coalesce(change.device_id, -1)
                AND reserved.memory_kind = change.memory_kind
                AND reserved.allocator = change.allocator
                AND reserved.place >= change.place
    ),
    picked AS (
        SELECT
            device_id,
            memory_kind,
            allocator,
            unnest(['peak_allocated', 'peak_reserved', 'end']) AS moment,
            unnest([
                arg_max(place, (allocated_bytes, -place)),
                arg_max(place, (total_reserved_bytes, -place)),
                max(place)
            ]) AS place
        FROM state
        GROUP BY device_id, memory_kind, allocator
    ),
    shown AS (
        SELECT
            picked.moment,
            state.*
        FROM picked
        INNER JOIN state ON picked.place = state.place
    ),
    block AS MATERIALIZED (
        SELECT
            shown.moment,
            shown.device_id,
            shown.memory_kind,
            shown.allocator,
            shown.time_ns AS at_ns,
            block.address,
            block.bytes,
            block.requested_bytes
        FROM shown
        INNER JOIN memory_block AS block
            ON
                shown.device_id IS NOT DISTINCT FROM block.device_id
                AND shown.memory_kind = block.memory_kind
                AND shown.allocator = block.allocator
                AND shown.place >= block.place
                AND (block.end_place IS NULL OR shown.place < block.end_place)
    ),
    rounding AS (
        SELECT
            moment,
            device_id,
            memory_kind,
            allocator,
            sum(bytes - requested_bytes)::BIGINT AS rounding_bytes,
            sum(bytes) AS known_bytes
        FROM block
        GROUP BY moment, device_id, memory_kind, allocator
    ),
    segment AS (
        SELECT
            shown.moment,
            shown.device_id,
            shown.memory_kind,
            shown.allocator,
            segment.address,
            segment.bytes
        FROM shown
        INNER JOIN memory_segment AS segment
            ON
                shown.device_id IS NOT DISTINCT FROM segment.device_id
                AND shown.allocator = segment.allocator
                AND (segment.start_ns IS NULL OR shown.time_ns >= segment.start_ns)
                AND (segment.end_ns IS NULL OR shown.time_ns < segment.end_ns)
    ),
    -- A piece that is free reaches from the end of a block, or the start of a segment,
    -- to what follows.
    edge AS (
        SELECT
            moment,
            device_id,
            memory_kind,
            allocator,
            address AS free_from,
            address + bytes AS segment_end,
            TRUE AS is_segment
        FROM segment
        UNION ALL
        SELECT
            moment,
            device_id,
            memory_kind,
            allocator,
            address + bytes AS free_from,
            NULL AS segment_end,
            FALSE AS is_segment
        FROM block
    ),
    piece AS (
        SELECT
            edge.moment,
            edge.device_id,
            edge.memory_kind,
            edge.allocator,
            edge.free_from,
            max(edge.segment_end) OVER (
                PARTITION BY
                    edge.moment, edge.device_id, edge.memory_kind, edge.allocator
                ORDER BY edge.free_from, edge.is_segment
                ROWS UNBOUNDED PRECEDING
            ) AS segment_end
        FROM edge
    ),
    next_block AS (
        SELECT
            piece.*,
            block.address AS next_address
        FROM piece
        ASOF LEFT JOIN block
            ON
                piece.moment = block.moment
                AND coalesce(piece.device_id, -1) = coalesce(block.device_id, -1)
                AND piece.memory_kind = block.memory_kind
                AND piece.allocator = block.allocator
                AND piece.free_from <= block.address
    ),
    gap AS (
        SELECT
            moment,
            device_id,
            memory_kind,
            allocator,
            max(least(coalesce(next_address, segment_end), segment_end) - free_from)
                AS largest_free_bytes
        FROM next_block
        WHERE segment_end IS NOT NULL
        GROUP BY moment, device_id, memory_kind, allocator
    ),
    sample AS (
        SELECT
            device_id,
            time_ns,
            (
                value * CASE unit WHEN 'MiB' THEN 1048576 WHEN 'kB' THEN 1000 ELSE 1 END
            )::BIGINT AS used_bytes
        FROM counter_sample
        WHERE
            source IN ('cuda', 'nvml')
            AND metric = 'memory_used'
            AND device_id IS NOT NULL
    ),
    context AS (
        SELECT max(try_cast(value AS BIGINT)) AS bytes
        FROM run_fact
        WHERE key = 'memory.context_bytes'
    )

SELECT
    shown.device_id,
    nullif(shown.allocator, '') AS allocator,
    shown.moment,
    shown.time_ns,
    shown.allocated_bytes,
    shown.total_reserved_bytes AS reserved_bytes,
    shown.total_reserved_bytes - shown.allocated_bytes AS free_bytes,
    1 - shown.allocated_bytes / shown.total_reserved_bytes AS fragmentation,
    rounding.rounding_bytes,
    -- Where blocks are not known, what looks free need not be.
    CASE WHEN rounding.known_bytes = shown.allocated_bytes THEN gap.largest_free_bytes
    END AS largest_free_bytes,
    sample.used_bytes AS device_used_bytes,
    context.bytes AS context_bytes,
    sample.used_bytes - shown.total_reserved_bytes AS outside_bytes
FROM shown
CROSS JOIN context
LEFT JOIN rounding
    ON
        shown.moment = rounding.moment
        AND shown.device_id IS NOT DISTINCT FROM rounding.device_id
        AND shown.memory_kind = rounding.memory_kind
        AND shown.allocator = rounding.allocator
LEFT JOIN gap
    ON
        shown.moment = gap.moment
        AND shown.device_id IS NOT DISTINCT FROM gap.device_id
        AND shown.memory_kind = gap.memory_kind
        AND shown.allocator = gap.allocator
ASOF LEFT JOIN sample
    ON shown.device_id = sample.device_id AND shown.time_ns >= sample.time_ns
ORDER BY
    shown.device_id ASC NULLS LAST,
    shown.allocator ASC,
    shown.memory_kind ASC,
    shown.place ASC,
    shown.moment ASC;
