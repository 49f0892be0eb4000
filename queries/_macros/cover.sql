-- Time in layers: each instant goes to the lowest layer that covers it.

-- How long each layer is the lowest one, from one cut to the next. `intervals` has the
-- columns key, layer (0 to 7), start_ns, end_ns; `cuts` has key and time_ns, at least
-- two a key. Intervals may touch, nest, cross or be empty, and reach over any cut. One
-- row for each two neighboring cuts of a key: key, start_ns, end_ns, and layer_0_ns to
-- layer_7_ns and uncovered_ns, which add up to end_ns - start_ns.
--
-- One sort does it. Along it a running maximum of the ends tells how far the union of
-- the layers up to each one reaches, so each interval adds what lies beyond to the
-- union's length; what the union reaches beyond a cut belongs behind it.
CREATE MACRO cover(intervals, cuts) AS TABLE (
    WITH
        cut AS (
            SELECT DISTINCT
                key,
                time_ns
            FROM query_table(cuts)
        ),
        placed AS (
            SELECT
                key,
                layer,
                start_ns,
                end_ns
            FROM query_table(intervals)
            UNION ALL
            SELECT
                key,
                -1 AS layer,
                time_ns AS start_ns,
                time_ns AS end_ns
            FROM cut
        ),
        reached AS (
            SELECT
                key,
                layer,
                start_ns,
                end_ns,
                CASE
                    WHEN layer = -1 THEN start_ns
                    ELSE max(start_ns) FILTER (WHERE layer = -1) OVER earlier
                END AS cut_ns,
                max(end_ns) FILTER (WHERE layer = 0) OVER earlier AS to_0,
                max(end_ns) FILTER (WHERE layer BETWEEN 0 AND 1) OVER earlier
                    AS to_1,
                max(end_ns) FILTER (WHERE layer BETWEEN 0 AND 2) OVER earlier
                    AS to_2,
                max(end_ns) FILTER (WHERE layer BETWEEN 0 AND 3) OVER earlier
                    AS to_3,
                max(end_ns) FILTER (WHERE layer BETWEEN 0 AND 4) OVER earlier
                    AS to_4,
                max(end_ns) FILTER (WHERE layer BETWEEN 0 AND 5) OVER earlier
                    AS to_5,
                max(end_ns) FILTER (WHERE layer BETWEEN 0 AND 6) OVER earlier
                    AS to_6,
                max(end_ns) FILTER (WHERE layer BETWEEN 0 AND 7) OVER earlier
                    AS to_7
            FROM placed
            WINDOW
                earlier AS (
                    PARTITION BY key
                    ORDER BY start_ns
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                )
        ),
        -- A cut row has what reaches beyond it, all others what they add.
        part AS (
            SELECT
                key,
                cut_ns,
                max(CASE WHEN layer = -1 THEN greatest(to_0 - start_ns, 0) END)
                    AS beyond_0,
                max(CASE WHEN layer = -1 THEN greatest(to_1 - start_ns, 0) END)
                    AS beyond_1,
                max(CASE WHEN layer = -1 THEN greatest(to_2 - start_ns, 0) END)
                    AS beyond_2,
                max(CASE WHEN layer = -1 THEN greatest(to_3 - start_ns, 0) END)
                    AS beyond_3,
                max(CASE WHEN layer = -1 THEN greatest(to_4 - start_ns, 0) END)
                    AS beyond_4,
                max(CASE WHEN layer = -1 THEN greatest(to_5 - start_ns, 0) END)
                    AS beyond_5,
                max(CASE WHEN layer = -1 THEN greatest(to_6 - start_ns, 0) END)
                    AS beyond_6,
                max(CASE WHEN layer = -1 THEN greatest(to_7 - start_ns, 0) END)
                    AS beyond_7,
                sum(added(start_ns, end_ns, to_0)) FILTER (WHERE layer <= 0)
                    AS added_0,
                sum(added(start_ns, end_ns, to_1)) FILTER (WHERE layer <= 1)
                    AS added_1,
                sum(added(start_ns, end_ns, to_2)) FILTER (WHERE layer <= 2)
                    AS added_2,
                sum(added(start_ns, end_ns, to_3)) FILTER (WHERE layer <= 3)
                    AS added_3,
                sum(added(start_ns, end_ns, to_4)) FILTER (WHERE layer <= 4)
                    AS added_4,
                sum(added(start_ns, end_ns, to_5)) FILTER (WHERE layer <= 5)
                    AS added_5,
                sum(added(start_ns, end_ns, to_6)) FILTER (WHERE layer <= 6)
                    AS added_6,
                sum(added(start_ns, end_ns, to_7)) FILTER (WHERE layer <= 7)
                    AS added_7
            FROM reached
            WHERE cut_ns IS NOT NULL
            GROUP BY key, cut_ns
        ),
        united AS (
            SELECT
                key,
                cut_ns AS start_ns,
                lead(cut_ns) OVER following AS end_ns,
                inside(beyond_0, added_0, lead(beyond_0) OVER following) AS united_0,
                inside(beyond_1, added_1, lead(beyond_1) OVER following) AS united_1,
                inside(beyond_2, added_2, lead(beyond_2) OVER following) AS united_2,
                inside(beyond_3, added_3, lead(beyond_3) OVER following) AS united_3,
                inside(beyond_4, added_4, lead(beyond_4) OVER following) AS united_4,
                inside(beyond_5, added_5, lead(beyond_5) OVER following) AS united_5,
                inside(beyond_6, added_6, lead(beyond_6) OVER following) AS united_6,
                inside(beyond_7, added_7, lead(beyond_7) OVER following) AS united_7
            FROM part
            WINDOW following AS (PARTITION BY key ORDER BY cut_ns)
        )

    SELECT
        key,
        start_ns,
        end_ns,
        united_0 AS layer_0_ns,
        united_1 - united_0 AS layer_1_ns,
        united_2 - united_1 AS layer_2_ns,
        united_3 - united_2 AS layer_3_ns,
        united_4 - united_3 AS layer_4_ns,
        united_5 - united_4 AS layer_5_ns,
        united_6 - united_5 AS layer_6_ns,
        united_7 - united_6 AS layer_7_ns,
        end_ns - start_ns - united_7 AS uncovered_ns
    FROM united
    WHERE end_ns IS NOT NULL
);

-- What an interval adds to a union that reaches so far.
CREATE MACRO added(start_ns, end_ns, to_ns) AS
greatest(end_ns - greatest(start_ns, coalesce(to_ns, start_ns)), 0);

-- The part of a union between two cuts.
CREATE MACRO inside(from_before, added_ns, into_next) AS (
    coalesce(from_before, 0) + coalesce(added_ns, 0) - coalesce(into_next, 0)
)::bigint;

-- How much of the union of all intervals lies before each cut, from the key's first cut
-- on: key, time_ns, covered_ns. Between any two cuts lies the difference. Tables as in
-- `cover`, but that a key may have one cut only.
CREATE MACRO covered_before(intervals, cuts) AS TABLE (
    WITH
        part AS (
            SELECT
                key,
                start_ns,
                end_ns,
                end_ns - start_ns - uncovered_ns AS covered_ns
            FROM cover(intervals, cuts)
        )

    SELECT
        key,
        end_ns AS time_ns,
        sum(covered_ns) OVER (PARTITION BY key ORDER BY end_ns)::bigint AS covered_ns
    FROM part
    UNION ALL
    SELECT
        key,
        min(time_ns) AS time_ns,
        0::bigint AS covered_ns
    FROM query_table(cuts)
    GROUP BY key
);
