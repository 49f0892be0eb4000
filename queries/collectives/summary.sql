-- collectives.summary: collective operations by kind and size, with their bandwidth.
--
-- Kernels that communicate are taken, and only where none were recorded the operators
-- that asked for them, whose times are the host's and tell no bandwidth of the links. A
-- collective is one operation on all ranks of its communicator: the rows of several
-- ranks with the same sequence number, or, where none was recorded, the n-th row of
-- that kind and size on each. Its latency is the shortest of them: the others waited
-- for the last to arrive. Algorithm bandwidth = bytes / latency; bus bandwidth = that x
-- 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, 1 for
-- others, with n ranks: it compares with the speed of the links.
--
-- scope: run
-- reads:
--   collective  rows
-- needs:
--   collective
-- columns:
--   communicator          VARCHAR  Communicator or process group.
--   operation             VARCHAR  Such as all_reduce.
--   data_type             VARCHAR  Element type.
--   bytes                 BIGINT   Message size.
--   group_size            INTEGER  Ranks that take part, or those that were seen where
--                                  it was not recorded.
--   timed                 VARCHAR  kernel or operator: whose time it is.
--   collectives           BIGINT   Collectives that were counted.
--   ranks_seen            BIGINT   Ranks whose rows were recorded.
--   total_ns              BIGINT   Summed latency.
--   latency_mean_ns       DOUBLE   Mean latency.
--   latency_median_ns     DOUBLE   Median latency.
--   latency_min_ns        BIGINT   Shortest latency.
--   latency_max_ns        BIGINT   Longest latency.
--   wait_mean_ns          DOUBLE   Mean of the longest less the shortest time.
--   algorithm_bandwidth  DOUBLE   bytes over latency, over all of them, in B/s.
--   bus_bandwidth  DOUBLE   The same as seen by the links, in B/s.

WITH
    preferred AS (
        SELECT bool_or(source = 'kernel') AS has_kernels
        FROM collective
    ),
    numbered AS (
        SELECT
            CASE collective.source WHEN 'kernel' THEN 'kernel' ELSE 'operator' END
                AS timed,
            collective.communicator,
            collective.operation,
            collective.data_type,
            collective.bytes,
            collective.group_size,
            collective.rank,
            collective.end_ns - collective.start_ns AS duration_ns,
            collective.sequence,
            CASE
                WHEN collective.sequence IS NULL
                    THEN row_number() OVER (
                        PARTITION BY
                            collective.source, collective.rank, collective.process_id,
                            collective.communicator, collective.operation,
                            collective.data_type, collective.bytes
                        ORDER BY collective.start_ns, collective.end_ns
                    )
            END AS place
        FROM collective
        CROSS JOIN preferred
        WHERE
            collective.source IS NOT DISTINCT FROM 'kernel'
            OR NOT coalesce(preferred.has_kernels, FALSE)
    ),
    joined AS (
        SELECT
            timed,
            communicator,
            operation,
            data_type,
            bytes,
            max(group_size) AS group_size,
            count(DISTINCT rank) AS ranks_seen,
            min(duration_ns) AS latency_ns,
            max(duration_ns) - min(duration_ns) AS wait_ns
        FROM numbered
        GROUP BY timed, communicator, operation, data_type, bytes, sequence, place
    ),
    summed AS (
        SELECT
            timed,
            communicator,
            operation,
            data_type,
            bytes,
            coalesce(max(group_size), max(ranks_seen))::INTEGER AS group_size,
            count(*) AS collectives,
            max(ranks_seen) AS ranks_seen,
            sum(latency_ns)::BIGINT AS total_ns,
            avg(latency_ns) AS latency_mean_ns,
            median(latency_ns) AS latency_median_ns,
            min(latency_ns) AS latency_min_ns,
            max(latency_ns) AS latency_max_ns,
            avg(wait_ns) AS wait_mean_ns
        FROM joined
        GROUP BY timed, communicator, operation, data_type, bytes
    )

SELECT
    communicator,
    operation,
    data_type,
    bytes,
    group_size,
    timed,
    collectives,
    ranks_seen,
    total_ns,
    latency_mean_ns,
    latency_median_ns,
    latency_min_ns,
    latency_max_ns,
    wait_mean_ns,
    bytes * collectives * 1e9 / nullif(total_ns, 0) AS algorithm_bandwidth,
    bytes * collectives * 1e9 / nullif(total_ns, 0)
    * bus_factor(operation, group_size) AS bus_bandwidth
FROM summed
ORDER BY
    total_ns DESC, communicator ASC, operation ASC, data_type ASC, bytes ASC,
    timed ASC;
