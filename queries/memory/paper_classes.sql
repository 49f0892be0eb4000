-- memory.paper_classes: memory at the peak in the five classes of the paper.
--
-- The classes of "Benchmarking and Analyzing Deep Neural Network Training" (TBD, IISWC
-- 2018) and what they are made of here: weights = weights; weight gradients =
-- weight_gradients; feature maps = feature_maps + input; workspace = workspace +
-- temporaries + activation_gradients; dynamic = dynamic + communication. What is
-- unknown stays unknown: with it the rows add up to peak_bytes.
--
-- reads:
--   memory_peak  lookup
-- needs:
--   memory_event
-- columns:
--   device_id      INTEGER  The device, as in the device table; NULL for host memory.
--   paper_class    VARCHAR  Class of the paper.
--   bytes_at_peak  BIGINT   Bytes of this class at the moment of the peak.
--   share          DOUBLE   bytes_at_peak over peak_bytes, 0 to 1.
--   peak_bytes     BIGINT   Most that was allocated at a time.
--   made_of        VARCHAR  The classes of memory.breakdown in it.
--   memory_kind    VARCHAR  Kind of the memory: device, pinned, pageable, ...
--   allocator      VARCHAR  Who gave it.

WITH
    peak AS MATERIALIZED (FROM memory_peak),
    whole AS (
        SELECT *
        FROM peak
        WHERE memory_class IS NULL
    ),
    part AS (
        SELECT
            *,
            CASE memory_class
                WHEN 'weights' THEN 'weights'
                WHEN 'weight_gradients' THEN 'weight gradients'
                WHEN 'feature_maps' THEN 'feature maps'
                WHEN 'input' THEN 'feature maps'
                WHEN 'dynamic' THEN 'dynamic'
                WHEN 'communication' THEN 'dynamic'
                WHEN 'unknown' THEN 'unknown'
                WHEN 'feature_maps_and_workspace' THEN 'feature maps and workspace'
                ELSE 'workspace'
            END AS paper_class
        FROM peak
        WHERE memory_class IS NOT NULL
    )

SELECT
    part.device_id,
    part.paper_class,
    sum(part.bytes)::BIGINT AS bytes_at_peak,
    sum(part.bytes) / any_value(whole.bytes) AS share,
    any_value(whole.bytes) AS peak_bytes,
    string_agg(part.memory_class, ' + ' ORDER BY part.memory_class) AS made_of,
    part.memory_kind,
    nullif(part.allocator, '') AS allocator
FROM part
INNER JOIN whole
    ON
        part.device_id IS NOT DISTINCT FROM whole.device_id
        AND part.memory_kind = whole.memory_kind
        AND part.allocator = whole.allocator
GROUP BY part.device_id, part.memory_kind, part.allocator, part.paper_class
ORDER BY
    part.device_id ASC NULLS LAST,
    part.memory_kind ASC,
    part.allocator ASC,
    bytes_at_peak DESC,
    part.paper_class ASC;
