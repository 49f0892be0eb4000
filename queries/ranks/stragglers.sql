-- ranks.stragglers: which ranks come late to collectives, and how long others wait.
--
-- A rank arrives at a collective when its kernel begins, and is late by the time since
-- the first rank arrived. Until the last one has arrived the others wait: their kernels
-- run and exchange nothing. The rank that is late most comes first. Times are those of
-- the common clock, so lateness below the residual of ranks.alignment means nothing.
-- `timed` says whose times they are: those of operators are the host's, and tell when a
-- rank asked for the collective. Collectives in which a rank had ended before another
-- began are not those of one operation, or no rank waits in them: they are counted
-- apart. ranks.arrivals has each collective, ranks.waits who waits for whom.
--
-- scope: run
-- reads:
--   collective  rows
--   kernel      rows
-- columns:
--   rank            INTEGER  The rank.
--   device_id       INTEGER  The device, as in the device table.
--   timed           VARCHAR  kernel or operator: whose times they are.
--   collectives     BIGINT   Collectives with other ranks that were counted.
--   arrived_last    BIGINT   Those in which it came last.
--   arrived_first   BIGINT   Those in which it came first.
--   late_ns         BIGINT   Summed time by which it came after the first.
--   late_median_ns  DOUBLE   Median of that.
--   late_max_ns     BIGINT   Longest of that.
--   held_up_ns      BIGINT   Summed time that others waited where it came last.
--   waited_ns       BIGINT   Summed time that it waited for the last to arrive.
--   not_joint       BIGINT   Collectives that were not counted: a rank had ended before
--                            another began.

WITH
    operation AS (FROM collective),
    work AS NOT MATERIALIZED (FROM kernel),
    part AS (
        SELECT
            *,
            CASE WHEN joint THEN start_ns - first_start_ns END AS late_ns,
            CASE WHEN joint THEN last_start_ns - start_ns END AS wait_ns
        FROM arrivals('operation', 'work')
    ),
    shared AS (
        SELECT
            *,
            sum(wait_ns) OVER (PARTITION BY number) AS all_wait_ns
        FROM part
    )

SELECT
    rank,
    device_id,
    timed,
    count(*) FILTER (WHERE joint) AS collectives,
    count(*) FILTER (WHERE joint AND start_ns = last_start_ns) AS arrived_last,
    count(*) FILTER (WHERE joint AND start_ns = first_start_ns) AS arrived_first,
    sum(late_ns)::BIGINT AS late_ns,
    median(late_ns) AS late_median_ns,
    max(late_ns) AS late_max_ns,
    coalesce(
        sum(all_wait_ns) FILTER (WHERE joint AND start_ns = last_start_ns), 0
    )::BIGINT AS held_up_ns,
    sum(wait_ns)::BIGINT AS waited_ns,
    count(*) FILTER (WHERE NOT joint) AS not_joint
FROM shared
GROUP BY rank, process_id, device_id, timed
ORDER BY late_ns DESC NULLS LAST, rank ASC, device_id ASC, process_id ASC;
