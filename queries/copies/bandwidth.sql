-- copies.bandwidth: how fast copies are, by direction and size, against the peak.
--
-- The bandwidth of a group is its bytes over its summed durations. The peak of a copy
-- within a device is half of its memory bandwidth, since each byte is read and written.
-- Captures do not say how fast the links between host and devices are: `host_peak` and
-- `peer_peak` tell it, in bytes a second, such as 63e9 for PCIe 5.0 x16; without them
-- there is no peak. Small copies are bound by latency. Pageable memory is copied twice.
--
-- reads:
--   memcpy  rows
--   device  lookup
-- needs:
--   memcpy.bytes
-- parameters:
--   host_peak  DOUBLE = 0   Peak between host and device in B/s, 0 for unknown.
--   peer_peak  DOUBLE = 0   Peak between devices in B/s, 0 for unknown.
-- columns:
--   device_id                INTEGER  The device, as in the device table.
--   operation                VARCHAR  The kind of copy.
--   source_memory_kind       VARCHAR  Kind of the memory copied from.
--   destination_memory_kind  VARCHAR  Kind of the memory copied to.
--   size_from_bytes          BIGINT   Copies of this size or more; sizes go by factors
--                                     of 16.
--   copies                   BIGINT   Copies that were counted.
--   total_bytes              BIGINT   Bytes that they copied.
--   total_ns                 BIGINT   Summed duration.
--   bytes_per_second         DOUBLE   total_bytes over total_ns.
--   best_bytes_per_second    DOUBLE   That of the fastest of them.
--   peak_bytes_per_second    DOUBLE   Peak of the link; NULL where it is not known.
--   peak_share               DOUBLE   bytes_per_second over the peak.
--   peak_source              VARCHAR  memory_bandwidth, host_peak or peer_peak.

WITH
    sized AS (
        SELECT
            device_id,
            operation_name('memcpy', copy_kind) AS operation,
            source_memory_kind,
            destination_memory_kind,
            coalesce(pow(16, floor(log2(nullif(bytes, 0)) / 4)), 0)::BIGINT
                AS size_from_bytes,
            bytes,
            end_ns - start_ns AS duration_ns,
            CASE
                WHEN
                    copy_kind IN ('DtoD', 'DtoA', 'AtoD', 'AtoA', 'unified_DtoD')
                    AND coalesce(source_device_id, -1)
                    = coalesce(destination_device_id, -1)
                    THEN 'memory_bandwidth'
                WHEN copy_kind IN ('PtoP', 'DtoD', 'unified_DtoD') THEN 'peer_peak'
                WHEN
                    contains(copy_kind, 'HtoD') OR contains(copy_kind, 'DtoH')
                    OR copy_kind IN ('HtoA', 'AtoH')
                    THEN 'host_peak'
            END AS link
        FROM memcpy
        WHERE bytes IS NOT NULL
    ),
    grouped AS (
        SELECT
            device_id,
            operation,
            source_memory_kind,
            destination_memory_kind,
            size_from_bytes,
            link,
            count(*) AS copies,
            sum(bytes)::BIGINT AS total_bytes,
            sum(duration_ns)::BIGINT AS total_ns,
            max(bytes / nullif(duration_ns, 0)) * 1e9 AS best_bytes_per_second
        FROM sized
        GROUP BY ALL
    ),
    peaked AS (
        SELECT
            grouped.*,
            grouped.total_bytes * 1e9 / nullif(grouped.total_ns, 0)
                AS bytes_per_second,
            CASE grouped.link
                WHEN 'memory_bandwidth' THEN device.memory_bandwidth / 2
                WHEN 'peer_peak' THEN nullif($peer_peak::DOUBLE, 0)
                WHEN 'host_peak' THEN nullif($host_peak, 0)
            END AS peak_bytes_per_second
        FROM grouped
        LEFT JOIN device ON grouped.device_id = device.device_id
    )

SELECT
    device_id,
    operation,
    source_memory_kind,
    destination_memory_kind,
    size_from_bytes,
    copies,
    total_bytes,
    total_ns,
    bytes_per_second,
    best_bytes_per_second,
    peak_bytes_per_second,
    bytes_per_second / peak_bytes_per_second AS peak_share,
    CASE WHEN peak_bytes_per_second IS NOT NULL THEN link END AS peak_source
FROM peaked
ORDER BY
    total_ns DESC, device_id ASC, operation ASC, source_memory_kind ASC,
    destination_memory_kind ASC, size_from_bytes ASC, link ASC;
