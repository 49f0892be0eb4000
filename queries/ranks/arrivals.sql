-- ranks.arrivals: how far apart the ranks arrive at each collective.
--
-- The skew is the time from the first to the last rank's start. What the ranks waited
-- for the last is summed over them. Ends that lie far apart are clocks that differ, or
-- an operation that does not join all ranks, as a broadcast or a point-to-point
-- exchange; `joint` says whether all had begun before the first ended, without which
-- nobody waited. Of several that arrive at once the lowest rank is named.
--
-- scope: run
-- reads:
--   collective  rows
--   kernel      rows
-- parameters:
--   order  VARCHAR = time   One of time or skew: which come first.
--   limit  BIGINT = 0    Rows to return, 0 for all.
-- columns:
--   number         BIGINT   Number of the collective, in order of time.
--   start_ns       BIGINT   When the first rank arrived.
--   communicator   VARCHAR  Communicator or process group.
--   operation      VARCHAR  Such as all_reduce, or the kernel's name.
--   bytes          BIGINT   Message size, the largest of the ranks'.
--   timed          VARCHAR  kernel or operator: whose times they are.
--   ranks          BIGINT   Ranks that were seen.
--   first_rank     INTEGER  Rank that arrived first.
--   last_rank      INTEGER  Rank that arrived last: the others waited for it.
--   skew_ns        BIGINT   From the first arrival to the last.
--   waited_ns      BIGINT   Summed time that ranks waited for the last; NULL where the
--                           operation is not joint.
--   exchange_ns    BIGINT   From the last arrival to the last end.
--   end_spread_ns  BIGINT   From the first end to the last.
--   joint          BOOLEAN  Whether all ranks had begun before the first ended.

WITH
    operation AS (FROM collective),
    work AS NOT MATERIALIZED (FROM kernel),
    part AS (
        SELECT *
        FROM arrivals('operation', 'work')
    )

SELECT
    number,
    first_start_ns AS start_ns,
    communicator,
    operation,
    max(bytes) AS bytes,
    timed,
    ranks,
    min(rank) FILTER (WHERE start_ns = first_start_ns) AS first_rank,
    min(rank) FILTER (WHERE start_ns = last_start_ns) AS last_rank,
    last_start_ns - first_start_ns AS skew_ns,
    CASE WHEN joint THEN sum(last_start_ns - start_ns) END::BIGINT AS waited_ns,
    last_end_ns - last_start_ns AS exchange_ns,
    last_end_ns - first_end_ns AS end_spread_ns,
    joint
FROM part
GROUP BY
    number, communicator, operation, timed, ranks, first_start_ns, last_start_ns,
    first_end_ns, last_end_ns, joint
ORDER BY
    CASE WHEN $order = 'skew' THEN last_start_ns - first_start_ns END DESC, number ASC
LIMIT CASE WHEN $limit > 0 THEN $limit END;
