-- ranks.waits: who waits for whom in collectives.
--
-- The last rank to arrive is waited for by all others, each from its own arrival on.
-- Of several that arrive last at once the lowest rank is the one that is waited for.
-- Collectives in which a rank had ended before another began are left out, as in
-- ranks.stragglers; so are those in which a rank did not wait.
--
-- scope: run
-- reads:
--   collective  rows
--   kernel      rows
-- columns:
--   rank              INTEGER  Rank that waited.
--   waits_for_rank    INTEGER  Rank that arrived last.
--   timed             VARCHAR  kernel or operator: whose times they are.
--   collectives       BIGINT   Collectives in which it waited for that rank.
--   waited_ns         BIGINT   Summed time that it waited for it.
--   waited_median_ns  DOUBLE   Median of that.
--   waited_max_ns     BIGINT   Longest of that.
--   waited_share      DOUBLE   waited_ns over all that the waiting rank waited, 0 to 1.

WITH
    operation AS (FROM collective),
    work AS NOT MATERIALIZED (FROM kernel),
    part AS (
        SELECT
            *,
            min(CASE WHEN start_ns = last_start_ns THEN rank END)
                OVER (PARTITION BY number) AS waits_for_rank
        FROM arrivals('operation', 'work')
        WHERE joint
    ),
    pair AS (
        SELECT
            rank,
            waits_for_rank,
            timed,
            count(*) AS collectives,
            sum(last_start_ns - start_ns)::BIGINT AS waited_ns,
            median(last_start_ns - start_ns) AS waited_median_ns,
            max(last_start_ns - start_ns) AS waited_max_ns
        FROM part
        WHERE start_ns < last_start_ns
        GROUP BY rank, waits_for_rank, timed
    )

SELECT
    rank,
    waits_for_rank,
    timed,
    collectives,
    waited_ns,
    waited_median_ns,
    waited_max_ns,
    waited_ns / sum(waited_ns) OVER (PARTITION BY rank) AS waited_share
FROM pair
ORDER BY waited_ns DESC, rank ASC, waits_for_rank ASC;
