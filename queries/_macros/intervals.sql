-- Unions of intervals. Each macro takes the name of a table or CTE with the columns
-- key, start_ns, end_ns and answers for each key by itself. Intervals are half-open
-- and may touch, nest, cross or be empty.

-- The length of the union. A running maximum of the ends over the earlier rows tells
-- how far the union reaches, so each row adds only what lies beyond it; rows that
-- start together may come in any order.
CREATE MACRO covered(intervals) AS TABLE (
    WITH
        reached AS (
            SELECT
                key,
                start_ns,
                end_ns,
                max(end_ns) OVER (
                    PARTITION BY key
                    ORDER BY start_ns
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS covered_to
            FROM query_table(intervals)
        )

    SELECT
        key,
        sum(
            greatest(end_ns - greatest(start_ns, coalesce(covered_to, start_ns)), 0)
        )::bigint AS covered_ns
    FROM reached
    GROUP BY key
);

-- The union as disjoint intervals; those that touch become one.
CREATE MACRO merged(intervals) AS TABLE (
    WITH
        reached AS (
            SELECT
                key,
                start_ns,
                end_ns,
                max(end_ns) OVER (
                    PARTITION BY key
                    ORDER BY start_ns, end_ns
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS covered_to
            FROM query_table(intervals)
        ),
        numbered AS (
            SELECT
                key,
                start_ns,
                end_ns,
                count(*) FILTER (WHERE covered_to IS NULL OR covered_to < start_ns)
                    OVER (
                        PARTITION BY key
                        ORDER BY start_ns, end_ns
                        ROWS UNBOUNDED PRECEDING
                    ) AS island
            FROM reached
        )

    SELECT
        key,
        min(start_ns) AS start_ns,
        max(end_ns) AS end_ns
    FROM numbered
    GROUP BY key, island
);
