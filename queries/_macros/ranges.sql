-- Ranges and marks, and which of them is open when a call is made.

-- The name that NVIDIA's reports print: the domain, which is empty for the default
-- one, a colon, and the text.
CREATE MACRO range_name(domain, text) AS
coalesce(domain, '') || ':' || coalesce(text, '');

-- An open range lasts for ever: nothing that follows is outside of it.
CREATE MACRO range_end(end_ns) AS coalesce(end_ns, 9223372036854775807);

-- Ranges with a number `place`: among the ranges that are open at a time, the one with
-- the highest place has begun last. Takes the name of a table or CTE like annotation.
CREATE MACRO placed_ranges(ranges) AS TABLE (
    SELECT
        annotation_id,
        process_id,
        thread_id,
        end_thread_id,
        kind,
        domain,
        category,
        text,
        start_ns,
        end_ns,
        payload,
        row_number() OVER (
            ORDER BY
                start_ns ASC, end_ns DESC NULLS FIRST, annotation_id ASC
        ) AS place
    FROM query_table(ranges)
);

-- Which range is the innermost, over time: from at_ns on it is that of `place`, or none
-- where it is NULL, until the next at_ns of the same key. A row for each time at which
-- that may change. Takes the name of a table or CTE with the columns key, place,
-- start_ns and end_ns, where the ranges of one key nest: those of a stack, which a
-- thread has in each domain. A range without length is never the innermost.
--
-- The ranges of a key that are open number `depth` after each begin and end; the
-- innermost of them is the last one that made it that many.
CREATE MACRO innermost_range(ranges) AS TABLE (
    WITH
        change AS (
            SELECT
                key,
                place,
                start_ns AS at_ns,
                1 AS step
            FROM query_table(ranges)
            WHERE end_ns > start_ns
            UNION ALL
            SELECT
                key,
                place,
                end_ns AS at_ns,
                -1 AS step
            FROM query_table(ranges)
            WHERE end_ns > start_ns
        ),
        deep AS (
            SELECT
                *,
                sum(step) OVER in_time AS depth,
                lead(at_ns) OVER in_time AS next_ns
            FROM change
            WINDOW
                in_time AS (
                    PARTITION BY key
                    ORDER BY at_ns, step, place
                    ROWS UNBOUNDED PRECEDING
                )
        ),
        topped AS (
            SELECT
                key,
                at_ns,
                next_ns,
                depth,
                last_value(CASE WHEN step = 1 THEN place END IGNORE NULLS) OVER (
                    PARTITION BY key, depth
                    ORDER BY at_ns, step, place
                    ROWS UNBOUNDED PRECEDING
                ) AS place
            FROM deep
        )

    SELECT
        key,
        at_ns,
        place,
        depth::bigint AS depth
    FROM topped
    WHERE at_ns IS DISTINCT FROM next_ns
);

-- The stacks of ranges: one for each thread and domain. Takes the name of a table or
-- CTE like annotation; `stacks` counts those of the thread.
CREATE MACRO range_stacks(ranges) AS TABLE (
    SELECT
        process_id,
        thread_id,
        domain,
        row_number() OVER () AS key,
        count(*) OVER (PARTITION BY process_id, thread_id) AS stacks
    FROM (
        SELECT DISTINCT
            process_id,
            thread_id,
            domain
        FROM query_table(ranges)
    ) AS distinct_stack
    WHERE process_id IS NOT NULL AND thread_id IS NOT NULL
);


-- The times at which the open ranges of a thread change: process_id, thread_id, at_ns
-- and, for each stack of the thread, its innermost range from then on (`place`, or
-- NULL). Takes the name of a table or CTE like annotation, with `place`.
CREATE MACRO open_ranges(ranges) AS TABLE (
    WITH
        stack AS MATERIALIZED (FROM range_stacks(ranges)),
        placed AS NOT MATERIALIZED (FROM query_table(ranges)),
        -- Named in text below.
        stacked AS NOT MATERIALIZED ( -- noqa: ST03
            SELECT
                stack.key,
                placed.place,
                placed.start_ns,
                range_end(placed.end_ns) AS end_ns
            FROM placed
            INNER JOIN stack
                ON
                    placed.process_id = stack.process_id
                    AND placed.thread_id = stack.thread_id
                    AND placed.domain IS NOT DISTINCT FROM stack.domain
        ),
        segment AS (
            SELECT
                stack.process_id,
                stack.thread_id,
                stack.key,
                stack.stacks,
                found.at_ns,
                found.place
            FROM innermost_range('stacked') AS found
            INNER JOIN stack ON found.key = stack.key
        ),
        boundary AS (
            SELECT DISTINCT
                segment.process_id,
                segment.thread_id,
                segment.at_ns,
                stack.key
            FROM segment
            INNER JOIN stack
                ON
                    segment.process_id = stack.process_id
                    AND segment.thread_id = stack.thread_id
            WHERE segment.stacks > 1
        ),
        -- Most threads have one stack: what needs no join is not sorted for one.
        shared AS (
            SELECT
                key,
                at_ns,
                place
            FROM segment
            WHERE stacks > 1
        )

    SELECT
        process_id,
        thread_id,
        at_ns,
        place
    FROM segment
    WHERE stacks = 1
    UNION ALL
    SELECT
        boundary.process_id,
        boundary.thread_id,
        boundary.at_ns,
        shared.place
    FROM boundary
    ASOF LEFT JOIN shared
        ON boundary.key = shared.key AND boundary.at_ns >= shared.at_ns
);

-- The innermost range of each thread over time, over all of its domains: process_id,
-- thread_id, at_ns, place. Ranges of different domains may cross; the one that began
-- last is the innermost. Takes what open_ranges takes.
CREATE MACRO innermost_of_thread(ranges) AS TABLE (
    SELECT
        process_id,
        thread_id,
        at_ns,
        max(place) AS place
    FROM open_ranges(ranges)
    GROUP BY process_id, thread_id, at_ns
);

-- Each range with the one that it is nested in: place, parent (a place, or NULL) and
-- level, 0 for the outermost. Takes the name of a table or CTE with the columns key,
-- place, start_ns and end_ns, where the ranges of one key nest. A range without length
-- is nested in the one that is open then.
CREATE MACRO nested_ranges(ranges) AS TABLE (
    WITH
        change AS (
            SELECT
                key,
                place,
                start_ns AS at_ns,
                1 AS step
            FROM query_table(ranges)
            WHERE end_ns > start_ns
            UNION ALL
            SELECT
                key,
                place,
                end_ns AS at_ns,
                -1 AS step
            FROM query_table(ranges)
            WHERE end_ns > start_ns
        ),
        deep AS (
            SELECT
                key,
                place,
                step,
                (sum(step) OVER (
                    PARTITION BY key
                    ORDER BY at_ns, step, place
                    ROWS UNBOUNDED PRECEDING
                ))::bigint AS depth
            FROM change
        ),
        begun AS (
            SELECT
                key,
                place,
                depth,
                depth - 1 AS outer_depth
            FROM deep
            WHERE step = 1
        ),
        instant AS (
            SELECT
                key,
                place,
                start_ns
            FROM query_table(ranges)
            WHERE end_ns <= start_ns
        ),
        innermost AS (FROM innermost_range(ranges))

    -- Places count up with the starts, so the enclosing range has the last place of
    -- those that are one less deep.
    SELECT
        begun.place,
        enclosing.place AS parent,
        begun.outer_depth AS level
    FROM begun
    ASOF LEFT JOIN begun AS enclosing
        ON
            begun.key = enclosing.key
            AND begun.outer_depth = enclosing.depth
            AND begun.place > enclosing.place
    UNION ALL
    SELECT
        instant.place,
        innermost.place AS parent,
        coalesce(innermost.depth, 0) AS level
    FROM instant
    ASOF LEFT JOIN innermost
        ON instant.key = innermost.key AND instant.start_ns >= innermost.at_ns
);
