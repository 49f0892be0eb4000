-- What a collective operation asks of the links, by its name and the ranks in it.

-- Bus over algorithm bandwidth, as NCCL's tests define it. Names are compared without
-- case, underscores and what frameworks add to them: `all_reduce`, `ncclAllReduce`,
-- `_allgather_base`, `reduce_scatter_tensor`, `all_to_allv`.
CREATE MACRO bus_factor(operation, ranks) AS CASE
    WHEN ranks IS NULL OR ranks < 1 THEN NULL
    WHEN regexp_matches(operation, '(?i)all_?reduce') THEN 2 * (ranks - 1) / ranks
    WHEN regexp_matches(operation, '(?i)all_?gather|reduce_?scatter|all_?to_?all')
        THEN (ranks - 1) / ranks
    ELSE 1
END;
