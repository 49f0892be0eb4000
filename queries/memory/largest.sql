-- memory.largest: the largest blocks, how long they lived and where they came from.
--
-- reads:
--   memory_block  lookup
--   memory_held   lookup
--   call_stack    lookup
-- needs:
--   memory_event
-- parameters:
--   limit   BIGINT = 20   Rows to return, 0 for all.
--   frames  BIGINT = 8    Frames of a call stack to show, those of the allocator aside.
-- columns:
--   device_id        INTEGER  The device, as in the device table; NULL for host memory.
--   bytes            BIGINT   Size of the block.
--   requested_bytes  BIGINT   Size that was asked for.
--   memory_class     VARCHAR  What it holds.
--   class_source     VARCHAR  How that is known: profiler, storage or inferred.
--   layer            VARCHAR  Layer that made, saved or owns it.
--   tag              VARCHAR  Variable, tensor or operator it belongs to.
--   shape            VARCHAR  Shape of the tensor, canonical JSON.
--   data_type        VARCHAR  Element type of the tensor.
--   start_ns         BIGINT   When it was allocated; NULL if before the recording.
--   end_ns           BIGINT   When it was freed; NULL if it was not.
--   lifetime_ns      BIGINT   end_ns - start_ns.
--   at_peak          BOOLEAN  Whether it was there when most was allocated.
--   memory_kind      VARCHAR  Kind of the memory: device, pinned, pageable, ...
--   allocator        VARCHAR  Who gave it.
--   address          BIGINT   Its address; unsigned bits in a signed column.
--   stack            VARCHAR  Call stack of the allocation, innermost first.

WITH
    largest AS MATERIALIZED (
        SELECT *
        FROM memory_block
        ORDER BY bytes DESC, place ASC
        LIMIT CASE WHEN $limit > 0 THEN $limit ELSE 9223372036854775807 END
    ),
    frame AS (
        SELECT
            call_stack.call_stack_id,
            call_stack.depth,
            coalesce(call_stack.symbol, call_stack.module, '?')
            || coalesce(
                ' (' || parse_filename(call_stack.file) || ':' || call_stack.line
                || ')', ''
            ) AS text,
            row_number() OVER (
                PARTITION BY call_stack.call_stack_id ORDER BY call_stack.depth
            ) AS number
        FROM call_stack
        SEMI JOIN largest ON call_stack.call_stack_id = largest.call_stack_id
        WHERE
            NOT coalesce(
                regexp_matches(
                    call_stack.symbol,
                    '^(torch::unwind|torch::CapturedTraceback|torch::cuda::\(anonymous'
                    || '|c10::cuda::CUDACachingAllocator|at::detail::empty)'
                ),
                FALSE
            )
    ),
    stack AS (
        SELECT
            call_stack_id,
            string_agg(text, ' < ' ORDER BY depth) AS stack
        FROM frame
        WHERE number <= $frames
        GROUP BY call_stack_id
    )

SELECT
    largest.device_id,
    largest.bytes,
    largest.requested_bytes,
    largest.memory_class,
    largest.class_source,
    largest.layer,
    largest.tag,
    largest.shape,
    largest.data_type,
    CASE WHEN largest.kind <> 'held' THEN largest.start_ns END AS start_ns,
    largest.end_ns,
    CASE WHEN largest.kind <> 'held' THEN largest.end_ns - largest.start_ns END
        AS lifetime_ns,
    memory_held.place IS NOT NULL AS at_peak,
    largest.memory_kind,
    nullif(largest.allocator, '') AS allocator,
    largest.address,
    stack.stack
FROM largest
LEFT JOIN memory_held ON largest.place = memory_held.place
LEFT JOIN stack ON largest.call_stack_id = stack.call_stack_id
ORDER BY largest.bytes DESC, largest.place ASC;
