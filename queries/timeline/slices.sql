-- timeline.slices: what ran when, short slices merged so that any trace can be drawn.
--
-- GPU activities by stream, API calls and ranges by thread. Of each of the three, those
-- that are longer than the `limit`-th longest are rows of their own; the others are
-- merged, by track and by which of `bins` equal parts of the time they start in: such a
-- row reaches from the first start to the last end and counts them in `slices`. The
-- slices of all rows together are all of them. A window takes what starts inside,
-- whole. Ranges that never ended are left out.
--
-- reads:
--   gpu_activity  rows
--   api_call      rows
--   annotation    rows
-- parameters:
--   limit  BIGINT = 8000  Rows of their own of each track kind, 0 for all.
--   bins   BIGINT = 500   Parts of the time in which the others are merged.
-- columns:
--   track           VARCHAR  gpu, api or range.
--   process_id      INTEGER  The process, as in the process table.
--   device_id       INTEGER  The device of GPU work.
--   stream_id       BIGINT   The stream of GPU work.
--   thread_id       INTEGER  The thread of calls and ranges.
--   start_ns        BIGINT   When it began.
--   end_ns          BIGINT   When it ended.
--   slices          BIGINT   How many are merged in the row; 1 for one alone.
--   busy_ns         BIGINT   Their summed duration.
--   kind            VARCHAR  kernel, memcpy, memset, graph_launch, domain of a call,
--                            the kind of a range; NULL where several are merged.
--   slice_name      VARCHAR  Name of the one; NULL where several are merged.
--   correlation_id  BIGINT   Id that a call shares with the work that it launched.

WITH
    slice AS (
        SELECT
            'gpu' AS track,
            process_id,
            device_id,
            stream_id,
            NULL::INTEGER AS thread_id,
            start_ns,
            end_ns,
            activity AS kind,
            coalesce(name, activity) AS slice_name,
            correlation_id
        FROM gpu_activity
        UNION ALL
        SELECT
            'api' AS track,
            process_id,
            NULL::INTEGER AS device_id,
            NULL::BIGINT AS stream_id,
            thread_id,
            start_ns,
            end_ns,
            domain AS kind,
            name AS slice_name,
            correlation_id
        FROM api_call
        WHERE domain IS DISTINCT FROM 'backtrace' AND end_ns IS NOT NULL
        UNION ALL
        SELECT
            'range' AS track,
            process_id,
            NULL::INTEGER AS device_id,
            NULL::BIGINT AS stream_id,
            thread_id,
            start_ns,
            end_ns,
            kind,
            range_name(domain, text) AS slice_name,
            NULL::BIGINT AS correlation_id
        FROM annotation
        WHERE kind <> 'mark' AND end_ns IS NOT NULL
    ),
    -- Those as long as the one that is last are merged too, or their number would not
    -- be bound.
    bound AS MATERIALIZED (
        SELECT
            coalesce((
                SELECT end_ns - start_ns
                FROM slice
                WHERE track = 'gpu'
                ORDER BY end_ns - start_ns DESC
                LIMIT 1 OFFSET $limit
            ), -1) AS gpu_ns,
            coalesce((
                SELECT end_ns - start_ns
                FROM slice
                WHERE track = 'api'
                ORDER BY end_ns - start_ns DESC
                LIMIT 1 OFFSET $limit
            ), -1) AS api_ns,
            coalesce((
                SELECT end_ns - start_ns
                FROM slice
                WHERE track = 'range'
                ORDER BY end_ns - start_ns DESC
                LIMIT 1 OFFSET $limit
            ), -1) AS range_ns
    ),
    span AS MATERIALIZED (
        SELECT
            min(start_ns) AS first_ns,
            greatest(max(end_ns) - min(start_ns), 1) AS span_ns
        FROM slice
    ),
    told AS NOT MATERIALIZED (
        SELECT
            slice.*,
            $limit = 0 OR slice.end_ns - slice.start_ns > CASE slice.track
                WHEN 'gpu' THEN bound.gpu_ns
                WHEN 'api' THEN bound.api_ns
                ELSE bound.range_ns
            END AS alone,
            (
                (slice.start_ns - span.first_ns)::HUGEINT * $bins // span.span_ns
            )::BIGINT AS bin
        FROM slice, bound, span
    ),
    merged AS (
        SELECT
            track,
            process_id,
            device_id,
            stream_id,
            thread_id,
            min(start_ns) AS start_ns,
            max(end_ns) AS end_ns,
            count(*) AS slices,
            sum(end_ns - start_ns)::BIGINT AS busy_ns,
            CASE WHEN count(*) = 1 THEN any_value(kind) END AS kind,
            CASE WHEN count(*) = 1 THEN any_value(slice_name) END AS slice_name,
            CASE WHEN count(*) = 1 THEN any_value(correlation_id) END AS correlation_id
        FROM told
        WHERE NOT alone
        GROUP BY track, process_id, device_id, stream_id, thread_id, bin
    ),
    row_of_slices AS (
        SELECT *
        FROM merged
        UNION ALL
        SELECT
            track,
            process_id,
            device_id,
            stream_id,
            thread_id,
            start_ns,
            end_ns,
            1 AS slices,
            end_ns - start_ns AS busy_ns,
            kind,
            slice_name,
            correlation_id
        FROM told
        WHERE alone
    )

SELECT
    track,
    process_id,
    device_id,
    stream_id,
    thread_id,
    start_ns,
    end_ns,
    slices,
    busy_ns,
    kind,
    slice_name,
    correlation_id
FROM row_of_slices
ORDER BY
    track ASC,
    process_id ASC,
    device_id ASC,
    stream_id ASC,
    thread_id ASC,
    start_ns ASC,
    end_ns DESC,
    slice_name ASC,
    correlation_id ASC;
