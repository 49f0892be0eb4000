-- What the GPU did for the calls that were made inside of ranges.

-- For each range the first start and the last end of the GPU work launched in it, and
-- the number of calls that launched it: place, gpu_start_ns, gpu_end_ns, operations.
-- A range in which nothing was launched has no row.
--
-- `ranges` names a table or CTE with the columns place, key, start_ns and end_ns;
-- ranges may nest and cross, and a place may stand under several keys. `launches` names
-- one with key, correlation_id, call_start_ns, call_end_ns, start_ns and end_ns. A
-- range takes the calls of its key that lie in it as a whole. The calls of one key
-- must not overlap, as those of a thread do not.
--
-- The times at which ranges begin and end part each key into stretches, so a range is a
-- row of stretches. `slot` numbers them by twos: calls that end in the stretch in which
-- they begin have the even number, and the call that reaches beyond it, which is the
-- last, the odd one. Slots with calls are counted through (`number`), and summed up in
-- blocks of 2, 4, 8, ... of them: a range of n slots is made of about 2 log2(n) blocks.
CREATE MACRO projected(ranges, launches) AS TABLE (
    WITH
        span AS NOT MATERIALIZED (FROM query_table(ranges)),
        launch AS NOT MATERIALIZED (FROM query_table(launches)),
        moment AS NOT MATERIALIZED (
            SELECT
                place,
                key,
                start_ns AS at_ns
            FROM span
            WHERE end_ns > start_ns
            UNION ALL
            SELECT
                place,
                key,
                end_ns AS at_ns
            FROM span
            WHERE end_ns > start_ns
        ),
        ranked AS MATERIALIZED (
            SELECT
                place,
                key,
                at_ns,
                dense_rank() OVER (PARTITION BY key ORDER BY at_ns) AS stretch
            FROM moment
        ),
        boundary AS MATERIALIZED (
            SELECT
                key,
                stretch,
                at_ns,
                lead(at_ns) OVER (PARTITION BY key ORDER BY at_ns) AS next_ns
            FROM (
                SELECT DISTINCT
                    key,
                    stretch,
                    at_ns
                FROM ranked
            ) AS distinct_moment
        ),
        slotted AS (
            SELECT
                launch.key,
                2 * boundary.stretch + (launch.call_end_ns > boundary.next_ns)::bigint
                    AS slot,
                id_block(launch.correlation_id) AS block,
                bit_or(id_bit(launch.correlation_id)) AS ids,
                min(launch.start_ns) AS start_ns,
                max(launch.end_ns) AS end_ns,
                max(launch.call_end_ns) AS call_end_ns
            FROM launch
            ASOF INNER JOIN boundary
                ON
                    launch.key = boundary.key
                    AND launch.call_start_ns >= boundary.at_ns
            WHERE boundary.next_ns IS NOT NULL
            GROUP BY ALL
        ),
        filled AS MATERIALIZED (
            SELECT
                key,
                slot,
                row_number() OVER (PARTITION BY key ORDER BY slot) AS number,
                sum(bit_count(ids))::bigint AS operations,
                min(start_ns) AS start_ns,
                max(end_ns) AS end_ns,
                max(call_end_ns) AS call_end_ns
            FROM slotted
            GROUP BY key, slot
        ),
        reaching AS (
            SELECT
                key,
                slot,
                call_end_ns
            FROM filled
            WHERE slot % 2 = 1
        ),
        -- No join with boundary: it has few keys, and a join on them first would be
        -- of each boundary with each.
        bounded AS (
            SELECT
                place,
                key,
                max(at_ns) AS end_ns,
                2 * min(stretch) AS first_slot,
                2 * max(stretch) AS end_slot
            FROM ranked
            GROUP BY place, key
        ),
        -- The last call that reaches beyond its stretch may reach beyond the range.
        cut AS (
            SELECT
                bounded.place,
                bounded.key,
                bounded.first_slot,
                CASE
                    WHEN reaching.call_end_ns > bounded.end_ns THEN reaching.slot
                    ELSE bounded.end_slot
                END AS end_slot
            FROM bounded
            ASOF LEFT JOIN reaching
                ON
                    bounded.key = reaching.key
                    AND bounded.end_slot > reaching.slot
        ),
        numbered AS (
            SELECT
                cut.place,
                cut.key,
                coalesce(before.number, 0) AS first_number,
                coalesce(last_one.number, 0) AS end_number
            FROM cut
            ASOF LEFT JOIN filled AS before
                ON cut.key = before.key AND cut.first_slot > before.slot
            ASOF LEFT JOIN filled AS last_one
                ON cut.key = last_one.key AND cut.end_slot > last_one.slot
        ),
        level AS (
            SELECT level.size
            FROM range(0, 40) AS level (size)
            WHERE
                1::bigint << level.size
                <= (SELECT coalesce(max(filled.number), 0) FROM filled)
        ),
        summed AS (
            SELECT
                filled.key,
                level.size,
                (filled.number - 1) >> level.size AS block,
                min(filled.start_ns) AS start_ns,
                max(filled.end_ns) AS end_ns,
                sum(filled.operations)::bigint AS operations
            FROM filled
            CROSS JOIN level
            GROUP BY ALL
        ),
        piece AS (
            SELECT
                place,
                key,
                size,
                unnest(blocks) AS block
            FROM (
                SELECT
                    numbered.place,
                    numbered.key,
                    level.size,
                    (numbered.first_number + (1::bigint << level.size) - 1)
                    >> level.size AS first_block,
                    numbered.end_number >> level.size AS end_block,
                    CASE
                        WHEN first_block % 2 = 1 AND end_block % 2 = 1
                            THEN [first_block, end_block - 1]
                        WHEN first_block % 2 = 1 THEN [first_block]
                        WHEN end_block % 2 = 1 THEN [end_block - 1]
                    END AS blocks
                FROM numbered
                INNER JOIN level
                    ON
                        numbered.end_number - numbered.first_number
                        >= 1::bigint << level.size
                WHERE first_block < end_block
            ) AS at_level
        )

    SELECT
        piece.place,
        min(summed.start_ns) AS gpu_start_ns,
        max(summed.end_ns) AS gpu_end_ns,
        sum(summed.operations)::bigint AS operations
    FROM piece
    INNER JOIN summed
        ON
            piece.key = summed.key
            AND piece.size = summed.size
            AND piece.block = summed.block
    GROUP BY piece.place
);

-- The ranges in which GPU work was launched, with their projection: the columns of
-- placed_ranges, gpu_start_ns, gpu_end_ns, operations, and where push_pop ranges of one
-- thread and domain nest, level, parent_id and children. Takes the names of tables
-- like annotation and launch, include or exclude for graphs that were traced as a
-- whole, and thread or process for those whose launches count.
CREATE MACRO projected_ranges(ranges, launches, graph_launches, launched_by) AS TABLE (
    WITH
        annotated AS NOT MATERIALIZED (FROM query_table(ranges)),
        -- CTEs that are not named again are named in text.
        chosen AS NOT MATERIALIZED ( -- noqa: ST03
            SELECT *
            FROM annotated
            WHERE kind IN ('push_pop', 'start_end')
        ),
        placed AS MATERIALIZED (
            SELECT
                place,
                annotation_id,
                process_id,
                thread_id,
                kind,
                domain,
                text,
                start_ns,
                end_ns
            FROM placed_ranges('chosen')
        ),
        known AS NOT MATERIALIZED (FROM query_table(launches)),
        work AS NOT MATERIALIZED (
            SELECT
                process_id,
                thread_id,
                correlation_id,
                call_start_ns,
                call_end_ns,
                start_ns,
                end_ns
            FROM known
            WHERE
                call_start_ns IS NOT NULL
                AND (graph_launches = 'include' OR activity <> 'graph_launch')
        ),
        -- The calls of a thread are a key of the projection.
        launcher AS MATERIALIZED (
            SELECT
                process_id,
                thread_id,
                launched_by = 'process' AS is_any_thread,
                (row_number() OVER ())::integer AS key
            FROM (
                SELECT DISTINCT
                    process_id,
                    thread_id
                FROM work
            ) AS distinct_thread
        ),
        keyed_range AS NOT MATERIALIZED ( -- noqa: ST03
            SELECT
                launcher.key,
                placed.place,
                placed.start_ns,
                range_end(placed.end_ns) AS end_ns
            FROM placed
            INNER JOIN launcher
                ON
                    placed.process_id = launcher.process_id
                    AND (
                        launcher.is_any_thread
                        OR placed.thread_id = launcher.thread_id
                    )
        ),
        keyed_launch AS NOT MATERIALIZED ( -- noqa: ST03
            SELECT
                launcher.key,
                work.correlation_id,
                work.call_start_ns,
                work.call_end_ns,
                work.start_ns,
                work.end_ns
            FROM work
            INNER JOIN launcher
                ON
                    work.process_id = launcher.process_id
                    AND work.thread_id = launcher.thread_id
        ),
        projection AS MATERIALIZED (FROM projected('keyed_range', 'keyed_launch')),
        nesting AS NOT MATERIALIZED (
            SELECT *
            FROM placed
            WHERE kind = 'push_pop'
        ),
        stack AS MATERIALIZED (FROM range_stacks('nesting')),
        stacked AS NOT MATERIALIZED ( -- noqa: ST03
            SELECT
                stack.key,
                nesting.place,
                nesting.start_ns,
                range_end(nesting.end_ns) AS end_ns
            FROM nesting
            INNER JOIN stack
                ON
                    nesting.process_id = stack.process_id
                    AND nesting.thread_id = stack.thread_id
                    AND nesting.domain IS NOT DISTINCT FROM stack.domain
        ),
        nested AS MATERIALIZED (FROM nested_ranges('stacked')),
        family AS (
            SELECT
                nested.parent,
                count(*) AS children
            FROM projection
            INNER JOIN nested ON projection.place = nested.place
            WHERE nested.parent IS NOT NULL
            GROUP BY nested.parent
        )

    SELECT
        placed.*,
        projection.gpu_start_ns,
        projection.gpu_end_ns,
        projection.operations,
        nested.level,
        outer_range.annotation_id AS parent_id,
        coalesce(family.children, 0) AS children
    FROM projection
    INNER JOIN placed ON projection.place = placed.place
    LEFT JOIN nested ON projection.place = nested.place
    LEFT JOIN placed AS outer_range ON nested.parent = outer_range.place
    LEFT JOIN family ON projection.place = family.parent
);
