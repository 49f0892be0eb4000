-- memory.breakdown: what each class of data holds when most memory is allocated.
--
-- Classes and unknown add up to the peak exactly; a block counts from its allocation to
-- the request to free it, in the size that the allocator gives it. A class is
-- `profiler` or `storage` where the capture says it, `inferred` where it follows from
-- the origin and the lifetime of a block. What was allocated before the recording began
-- is unknown. What an allocator keeps for later is in memory.fragmentation.
-- The classes, and those of the paper (memory.paper_classes):
--   weights               weights      parameters and buffers
--   weight_gradients      gradients    gradients of parameters
--   feature_maps          feature maps saved in the forward pass for the backward one
--   activation_gradients  workspace    gradients that the backward pass passes on
--   temporaries           workspace    what a step makes and frees on the way
--   workspace             workspace    scratch memory inside of an operation
--   dynamic               dynamic      state of the optimizer
--   communication         dynamic      buffers of collective operations
--   input                 feature maps batches
--
-- reads:
--   memory_peak  lookup
-- needs:
--   memory_event
-- columns:
--   device_id      INTEGER  The device, as in the device table; NULL for host memory.
--   memory_class   VARCHAR  What the memory holds.
--   bytes_at_peak  BIGINT   Bytes of this class at the moment of the peak.
--   share          DOUBLE   bytes_at_peak over peak_bytes, 0 to 1.
--   peak_bytes     BIGINT   Most that was allocated at a time.
--   when_ns        BIGINT   When that was; NULL where no times are recorded.
--   memory_kind    VARCHAR  Kind of the memory: device, pinned, pageable, ...
--   allocator      VARCHAR  Who gave it; the memory of one is part of that of another
--                           where it gets its memory from it, as torch does from cuda.
--   class_source   VARCHAR  How the class is known: profiler, storage, inferred or,
--                           with `+`, several; NULL for unknown.

WITH
    peak AS MATERIALIZED (FROM memory_peak),
    whole AS (
        SELECT *
        FROM peak
        WHERE memory_class IS NULL
    )

SELECT
    part.device_id,
    part.memory_class,
    part.bytes AS bytes_at_peak,
    part.bytes / whole.bytes AS share,
    whole.bytes AS peak_bytes,
    whole.time_ns AS when_ns,
    part.memory_kind,
    nullif(part.allocator, '') AS allocator,
    part.class_source
FROM peak AS part
INNER JOIN whole
    ON
        part.device_id IS NOT DISTINCT FROM whole.device_id
        AND part.memory_kind = whole.memory_kind
        AND part.allocator = whole.allocator
WHERE part.memory_class IS NOT NULL
ORDER BY
    part.device_id ASC NULLS LAST,
    part.memory_kind ASC,
    part.allocator ASC,
    part.bytes DESC,
    part.memory_class ASC;
