-- memory.by_layer: which layers hold the memory when most is allocated.
--
-- A block belongs to the layer that owns or saved it, as recorded, else to the
-- innermost module that ran when it was allocated, else to the operator or variable
-- that it is recorded with. What was allocated before the recording began has no layer.
-- Captures without addresses have no blocks, and no rows.
--
-- reads:
--   memory_held  lookup
-- needs:
--   memory_event
-- parameters:
--   limit  BIGINT = 50   Rows to return, 0 for all.
-- columns:
--   device_id      INTEGER  The device, as in the device table; NULL for host memory.
--   layer          VARCHAR  Layer, operator or variable; NULL if nothing tells.
--   source         VARCHAR  What it was read from: layer, or tag (operator, variable).
--   memory_class   VARCHAR  What the memory holds.
--   blocks         BIGINT   Blocks at the moment of the peak.
--   bytes_at_peak  BIGINT   Their bytes.
--   share          DOUBLE   bytes_at_peak over those of all blocks then, 0 to 1.
--   memory_kind    VARCHAR  Kind of the memory: device, pinned, pageable, ...
--   allocator      VARCHAR  Who gave it.

WITH
    owner AS (
        SELECT
            device_id,
            memory_kind,
            allocator,
            coalesce(layer, tag) AS layer,
            CASE
                WHEN layer IS NOT NULL THEN 'layer'
                WHEN tag IS NOT NULL THEN 'tag'
            END AS source,
            memory_class,
            count(*) AS blocks,
            sum(bytes)::BIGINT AS bytes_at_peak
        FROM memory_held
        GROUP BY
            device_id, memory_kind, allocator, coalesce(layer, tag), source,
            memory_class
    )

SELECT
    device_id,
    layer,
    source,
    memory_class,
    blocks,
    bytes_at_peak,
    bytes_at_peak
    / sum(bytes_at_peak) OVER (PARTITION BY device_id, memory_kind, allocator)
        AS share,
    memory_kind,
    nullif(allocator, '') AS allocator
FROM owner
ORDER BY
    device_id ASC NULLS LAST,
    memory_kind ASC,
    allocator ASC,
    bytes_at_peak DESC,
    layer ASC,
    source ASC,
    memory_class ASC
LIMIT CASE WHEN $limit > 0 THEN $limit ELSE 9223372036854775807 END;
