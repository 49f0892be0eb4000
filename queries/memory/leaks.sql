-- memory.leaks: memory that stays allocated over the steps and grows.
--
-- Blocks of one origin (class, layer, tag, call stack and size) that were allocated
-- since the first step began are counted at the end of each step. An origin is shown if
-- there are more of them at the end than after the first step, never fewer than a step
-- before, and more after at least `share` of the steps.
--
-- reads:
--   memory_block  lookup
--   step          lookup
--   call_stack    lookup
-- needs:
--   memory_event
--   step
-- parameters:
--   share  DOUBLE = 0.5   Least share of the steps in which it grows, 0 to 1.
--   limit  BIGINT = 20    Rows to return, 0 for all.
-- columns:
--   device_id              INTEGER  The device, as in the device table; NULL for host
--                                   memory.
--   memory_class           VARCHAR  What the memory holds.
--   layer                  VARCHAR  Layer that made, saved or owns it.
--   tag                    VARCHAR  Variable, tensor or operator it belongs to.
--   block_bytes            BIGINT   Size of one block.
--   steps                  BIGINT   Steps that were looked at.
--   growing_steps          BIGINT   Steps at whose end there was more than before.
--   blocks_first           BIGINT   Blocks at the end of the first step.
--   blocks_last            BIGINT   Blocks at the end of the last step.
--   growth_bytes           BIGINT   What was added between the two.
--   growth_bytes_per_step  DOUBLE   growth_bytes over the steps between.
--   allocator              VARCHAR  Who gave the memory.
--   call_stack_id          BIGINT   Call stack of the allocations, as in `call_stack`.
--   stack                  VARCHAR  Its innermost frames of Python, innermost first.

WITH
    numbered AS (
        SELECT
            process_id,
            start_ns,
            end_ns,
            row_number() OVER (PARTITION BY process_id ORDER BY end_ns, step_index)
                AS number,
            min(start_ns) OVER (PARTITION BY process_id) AS first_start_ns,
            count(*) OVER (PARTITION BY process_id) AS steps
        FROM step
        WHERE end_ns IS NOT NULL
    ),
    begun AS (
        SELECT DISTINCT
            process_id,
            first_start_ns
        FROM numbered
    ),
    block AS MATERIALIZED (
        SELECT
            block.*,
            dense_rank() OVER (
                ORDER BY
                    block.process_id, block.device_id, block.memory_kind,
                    block.allocator, block.memory_class, block.layer, block.tag,
                    block.call_stack_id, block.bytes
            ) AS origin
        FROM memory_block AS block
        INNER JOIN begun ON block.process_id = begun.process_id
        WHERE block.kind = 'allocate' AND block.start_ns >= begun.first_start_ns
    ),
    -- Only what outlives a step can grow over steps.
    alive AS (
        SELECT
            block.origin,
            block.process_id,
            numbered.number,
            any_value(numbered.steps) AS steps,
            count(*) AS blocks
        FROM block
        INNER JOIN numbered
            ON
                block.process_id = numbered.process_id
                AND block.start_ns < numbered.end_ns
                AND (block.end_ns IS NULL OR block.end_ns >= numbered.end_ns)
        GROUP BY block.origin, block.process_id, numbered.number
    ),
    lasting AS (
        SELECT
            origin,
            process_id,
            any_value(steps) AS steps
        FROM alive
        GROUP BY origin, process_id
    ),
    -- Where an origin has no row, it has no block.
    every AS (
        SELECT
            lasting.origin,
            numbered.number,
            lasting.steps,
            coalesce(alive.blocks, 0) AS blocks
        FROM lasting
        INNER JOIN numbered ON lasting.process_id = numbered.process_id
        LEFT JOIN alive
            ON lasting.origin = alive.origin AND numbered.number = alive.number
    ),
    growth AS (
        SELECT
            *,
            blocks - lag(blocks) OVER (PARTITION BY origin ORDER BY number) AS added
        FROM every
    ),
    leak AS (
        SELECT
            origin,
            any_value(steps) AS steps,
            count(*) FILTER (WHERE added > 0) AS growing_steps,
            arg_min(blocks, number) AS blocks_first,
            arg_max(blocks, number) AS blocks_last
        FROM growth
        GROUP BY origin
        HAVING
            coalesce(min(added), -1) >= 0
            AND blocks_last > blocks_first
            AND growing_steps >= $share * (any_value(steps) - 1)
    ),
    origin AS (
        SELECT
            origin,
            any_value(device_id) AS device_id,
            any_value(memory_class) AS memory_class,
            any_value(layer) AS layer,
            any_value(tag) AS tag,
            any_value(bytes) AS bytes,
            any_value(allocator) AS allocator,
            any_value(call_stack_id) AS call_stack_id
        FROM block
        GROUP BY origin
    ),
    frame AS (
        SELECT
            call_stack_id,
            depth,
            symbol || ' (' || parse_filename(file) || ':' || line || ')' AS text,
            row_number() OVER (PARTITION BY call_stack_id ORDER BY depth) AS number
        FROM call_stack
        WHERE file LIKE '%.py'
    ),
    stack AS (
        SELECT
            call_stack_id,
            string_agg(text, ' < ' ORDER BY depth) AS stack
        FROM frame
        WHERE number <= 6
        GROUP BY call_stack_id
    )

SELECT
    origin.device_id,
    origin.memory_class,
    origin.layer,
    origin.tag,
    origin.bytes AS block_bytes,
    leak.steps,
    leak.growing_steps,
    leak.blocks_first,
    leak.blocks_last,
    (leak.blocks_last - leak.blocks_first) * origin.bytes AS growth_bytes,
    growth_bytes / (leak.steps - 1) AS growth_bytes_per_step,
    nullif(origin.allocator, '') AS allocator,
    origin.call_stack_id,
    stack.stack
FROM leak
INNER JOIN origin ON leak.origin = origin.origin
LEFT JOIN stack ON origin.call_stack_id = stack.call_stack_id
ORDER BY growth_bytes DESC, leak.origin ASC
LIMIT CASE WHEN $limit > 0 THEN $limit ELSE 9223372036854775807 END;
