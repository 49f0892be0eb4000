-- kernel_annotation: the kernels, each with the innermost range of its launch.
--
-- One row per kernel. Its range is the push_pop range, of the thread that launched it,
-- that began last before its API call and is open then; the columns
-- annotation_id, domain, text, and range_... are NULL where there is none. The other
-- columns are those of launch. A range without an end lasts for ever.
--
-- reads:
--   launch      lookup
--   annotation  lookup

WITH
    -- Named in text below.
    nesting AS NOT MATERIALIZED ( -- noqa: ST03
        SELECT *
        FROM recorded.annotation
        WHERE kind = 'push_pop'
    ),
    placed AS (
        SELECT
            place,
            process_id,
            thread_id,
            annotation_id,
            domain,
            text,
            start_ns,
            end_ns
        FROM placed_ranges('nesting')
    ),
    segment AS (FROM innermost_of_thread('placed')),
    launched AS NOT MATERIALIZED (
        SELECT *
        FROM recorded.launch
        WHERE activity = 'kernel'
    ),
    begun AS (
        SELECT
            launch.*,
            segment.place
        FROM launched AS launch
        ASOF LEFT JOIN segment
            ON
                launch.process_id = segment.process_id
                AND launch.thread_id = segment.thread_id
                AND launch.call_start_ns >= segment.at_ns
    )

SELECT
    begun.kernel_id,
    begun.process_id,
    begun.thread_id,
    begun.device_id,
    begun.stream_id,
    begun.correlation_id,
    begun.start_ns,
    begun.end_ns,
    begun.name,
    begun.canonical_name,
    begun.short_name,
    begun.call_start_ns,
    begun.call_end_ns,
    placed.annotation_id,
    placed.domain,
    placed.text,
    placed.start_ns AS range_start_ns,
    placed.end_ns AS range_end_ns
FROM begun
LEFT JOIN placed ON begun.place = placed.place;
