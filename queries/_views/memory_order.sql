-- memory_order: the events of `memory_event` that change what is allocated, in order.
--
-- `place` counts them: by time, then as the capture has them. Where no kind of memory
-- was recorded it is device memory, or, where there is no device, pageable.
--
-- reads:
--   memory_event  lookup

SELECT
    row_number() OVER (
        ORDER BY
            time_ns ASC NULLS FIRST,
            memory_event_id ASC NULLS FIRST,
            kind NOT IN ('free', 'class_out') ASC,
            address ASC
    ) AS place,
    process_id,
    thread_id,
    device_id,
    stream_id,
    time_ns,
    kind,
    address,
    bytes,
    coalesce(allocator, '') AS allocator,
    coalesce(
        memory_kind, CASE WHEN device_id IS NULL THEN 'pageable' ELSE 'device' END
    ) AS memory_kind,
    memory_class,
    class_source,
    layer,
    tag,
    total_allocated_bytes,
    total_reserved_bytes,
    requested_bytes,
    region,
    data_type,
    shape,
    call_stack_id
FROM recorded.memory_event
WHERE kind IN ('allocate', 'held', 'free', 'class_in', 'class_out');
