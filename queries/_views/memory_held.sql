-- memory_held: the blocks that were allocated at the moment of the peak.
--
-- The columns of memory_block. Where the capture has no addresses there are none.
--
-- reads:
--   memory_block   lookup
--   memory_change  lookup

WITH
    peak AS (
        SELECT
            device_id,
            memory_kind,
            allocator,
            arg_max(place, (total_bytes, -moment)) AS place
        FROM recorded.memory_change
        GROUP BY device_id, memory_kind, allocator
    )

SELECT
    block.place,
    block.process_id,
    block.device_id,
    block.memory_kind,
    block.allocator,
    block.stream_id,
    block.kind,
    block.address,
    block.bytes,
    block.requested_bytes,
    block.memory_class,
    block.class_source,
    block.layer,
    block.tag,
    block.region,
    block.data_type,
    block.shape,
    block.call_stack_id,
    block.start_ns,
    block.end_ns,
    block.end_place
FROM recorded.memory_block AS block
INNER JOIN peak
    ON
        block.device_id IS NOT DISTINCT FROM peak.device_id
        AND block.memory_kind = peak.memory_kind
        AND block.allocator = peak.allocator
        AND block.place <= peak.place
        AND (block.end_place IS NULL OR block.end_place > peak.place);
