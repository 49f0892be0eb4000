-- memory_block: each allocation with its release, its class, and how that is known.
--
-- One row an allocation; a release belongs to the allocation before it at its address,
-- so an address that is given out again is another block. `memory_class` is what was
-- recorded; else what the origin and the lifetime of the block allow, and class_source
-- is `inferred`: in the backward pass, what outlives it are weight gradients, what is
-- freed inside of the innermost operator is workspace, inside of its node temporaries,
-- the rest activation gradients; what was allocated before it, and is alive when it
-- begins, are feature maps; what an optimizer allocates is dynamic if it outlives the
-- step. What nothing tells is unknown.
--
-- reads:
--   memory_origin  lookup

WITH
    -- A release belongs to the event before it at the same address.
    paired AS (
        SELECT
            *,
            lead(place) OVER at_address AS next_place,
            lead(time_ns) OVER at_address AS next_ns
        FROM recorded.memory_origin
        WHERE address IS NOT NULL AND kind IN ('allocate', 'held', 'free')
        WINDOW
            at_address AS (
                PARTITION BY process_id, device_id, allocator, address ORDER BY place
            )
    ),
    followed AS (
        SELECT
            *,
            next_place AS end_place,
            CASE WHEN next_place IS NOT NULL THEN next_ns END AS end_ns,
            min(CASE WHEN phase = 'backward' THEN place END) OVER later
                AS backward_place,
            -- A release tells little: a variable may hold on to a tensor for long.
            min(
                CASE
                    WHEN kind <> 'free' AND phase IN ('forward', 'optimizer')
                        THEN place
                END
            ) OVER later AS after_backward_place,
            min(
                CASE
                    WHEN kind <> 'free' AND phase IN ('forward', 'backward')
                        THEN place
                END
            ) OVER later AS after_optimizer_place
        FROM paired
        WINDOW
            later AS (
                PARTITION BY process_id, device_id, memory_kind, allocator
                ORDER BY place
                ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
            )
    ),
    allocation AS (
        SELECT *
        FROM followed
        WHERE kind <> 'free'
    ),
    inferred AS (
        SELECT
            *,
            CASE
                WHEN kind = 'held' THEN 'unknown'
                WHEN hint IS NOT NULL THEN hint
                WHEN end_ns <= operator_end_ns THEN 'workspace'
                WHEN end_ns <= phase_end_ns THEN 'temporaries'
                WHEN
                    phase = 'backward'
                    AND (
                        end_place IS NULL OR end_place > after_backward_place
                    )
                    THEN 'weight_gradients'
                WHEN phase = 'backward' THEN 'activation_gradients'
                WHEN
                    phase = 'optimizer'
                    AND end_place IS NOT NULL
                    AND (
                        after_optimizer_place IS NULL
                        OR end_place < after_optimizer_place
                    )
                    THEN 'temporaries'
                WHEN phase = 'optimizer' THEN 'dynamic'
                WHEN
                    phase = 'forward'
                    AND backward_place IS NOT NULL
                    AND (end_place IS NULL OR end_place >= backward_place)
                    THEN 'feature_maps'
                WHEN phase = 'forward' AND end_place IS NOT NULL THEN 'temporaries'
                ELSE 'unknown'
            END AS inferred_class
        FROM allocation
    )

SELECT
    place,
    process_id,
    device_id,
    memory_kind,
    allocator,
    stream_id,
    kind,
    address,
    bytes,
    requested_bytes,
    coalesce(nullif(memory_class, 'unknown'), inferred_class) AS memory_class,
    CASE
        WHEN memory_class <> 'unknown' THEN coalesce(class_source, 'profiler')
        WHEN inferred_class <> 'unknown' THEN 'inferred'
    END AS class_source,
    layer,
    tag,
    region,
    data_type,
    shape,
    call_stack_id,
    time_ns AS start_ns,
    end_ns,
    end_place
FROM inferred;
