-- ranks.alignment: how far the clocks of the ranks still differ.
--
-- An operation that joins all ranks ends on all of them at about the same time, so
-- what a rank's ends differ by from the middle of all ranks' ends is its clock's error
-- and the true spread together. A bias that all collectives share is a clock that
-- differs; distances to both sides are spread. Converting with `--align collectives`
-- removes the bias. Only kernels of operations that let no rank go before every rank
-- has come count (all-reduce, all-gather, reduce-scatter, all-to-all, and whatever
-- joins the ranks where only kernels' names are known). An order that cannot be, a
-- rank's end before another's begin, is counted: there the clocks differ by more than
-- the collective is long, or ranks are joined wrongly.
--
-- scope: run
-- reads:
--   collective  rows
--   kernel      rows
--   clock       lookup
-- needs:
--   clock
-- columns:
--   rank              INTEGER  The rank.
--   method            VARCHAR  How its clock was aligned: recorded, utc or collectives.
--   offset_ns         BIGINT   What is added to its times.
--   residual_ns       BIGINT   Median distance of its ends over the whole capture, as
--                              the conversion measured it.
--   collectives       BIGINT   Collectives with other ranks that were counted.
--   bias_ns           BIGINT   Median of its end less the middle end of all ranks.
--   distance_ns       BIGINT   Median distance of its end from that middle.
--   distance_max_ns   BIGINT   Longest distance.
--   impossible        BIGINT   Collectives in which a rank ended before another began.

WITH
    operation AS (
        SELECT *
        FROM collective
        WHERE
            source IS DISTINCT FROM 'kernel'
            OR regexp_matches(
                operation,
                '(?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all'
            )
    ),
    work AS NOT MATERIALIZED (
        SELECT *
        FROM kernel
        WHERE NOT regexp_matches(name, '(?i)broadcast|send_?recv|_reduce_')
    ),
    part AS (
        SELECT *
        FROM arrivals('operation', 'work')
        WHERE timed = 'kernel'
    ),
    -- The middle in integers: a double holds UTC times to 256 ns only.
    middle AS (
        SELECT
            number,
            (
                quantile_disc(end_ns, 0.5)
                - quantile_disc(-end_ns, 0.5)
            ) // 2 AS middle_ns
        FROM part
        GROUP BY number
    ),
    distance AS (
        SELECT
            part.rank,
            part.joint,
            part.end_ns - middle.middle_ns AS ahead_ns
        FROM part
        INNER JOIN middle ON part.number = middle.number
    ),
    measured AS (
        SELECT
            rank,
            count(*) FILTER (WHERE joint) AS collectives,
            median(ahead_ns) FILTER (WHERE joint) AS bias_ns,
            median(abs(ahead_ns)) FILTER (WHERE joint) AS distance_ns,
            max(abs(ahead_ns)) FILTER (WHERE joint) AS distance_max_ns,
            count(*) FILTER (WHERE NOT joint) AS impossible
        FROM distance
        GROUP BY rank
    )

SELECT
    clock.rank,
    clock.method,
    clock.offset_ns,
    clock.residual_ns,
    coalesce(measured.collectives, 0) AS collectives,
    measured.bias_ns::BIGINT AS bias_ns,
    measured.distance_ns::BIGINT AS distance_ns,
    measured.distance_max_ns,
    coalesce(measured.impossible, 0) AS impossible
FROM clock
LEFT JOIN measured ON clock.rank = measured.rank
ORDER BY clock.rank ASC;
