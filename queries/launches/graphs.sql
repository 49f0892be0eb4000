-- launches.graphs: what CUDA graphs ran, and what launching them cost.
--
-- A row is a graph on a device. Traced as a whole, a launch is one interval and its
-- kernels are not known; traced by node, the kernels, copies and fills of a launch
-- share its call. A launch traced by node lasts from the start of its first to the end
-- of its last node. A launch whose call was not recorded counts where the work tells it
-- apart: as a whole always, by node by its correlation id.
--
-- reads:
--   launch  rows
-- needs:
--   gpu_activity
-- columns:
--   process_id      INTEGER  The process, as in the process table.
--   device_id       INTEGER  The device, as in the device table.
--   graph_id        BIGINT   CUDA graph, as numbered by the profiler.
--   traced          VARCHAR  graph where launches were traced as a whole, else node.
--   launches        BIGINT   Launches of it.
--   nodes           BIGINT   Operations in a launch, on average rounded down; NULL
--                            where traced as a whole.
--   total_ns        BIGINT   Summed duration of the launches.
--   mean_ns         DOUBLE   Mean duration of a launch.
--   min_ns          BIGINT   Shortest launch.
--   max_ns          BIGINT   Longest launch.
--   call_mean_ns    DOUBLE   Mean duration of the launch call.
--   call_max_ns     BIGINT   Longest launch call.
--   latency_p50_ns  BIGINT   Median time from the end of the call to the start of the
--                            work; negative where it began before.

WITH
    part AS (
        SELECT
            process_id,
            device_id,
            graph_id,
            correlation_id,
            start_ns,
            end_ns,
            call_start_ns,
            call_end_ns,
            CASE activity WHEN 'graph_launch' THEN 'graph' ELSE 'node' END AS traced,
            CASE
                WHEN activity = 'graph_launch' OR correlation_id IS NULL
                    THEN start_ns
            END AS alone
        FROM launch
        WHERE activity = 'graph_launch' OR graph_node_id IS NOT NULL
    ),
    replay AS (
        SELECT
            process_id,
            device_id,
            graph_id,
            traced,
            CASE traced WHEN 'node' THEN count(*) END AS nodes,
            min(start_ns) AS start_ns,
            max(end_ns) AS end_ns,
            min(call_start_ns) AS call_start_ns,
            max(call_end_ns) AS call_end_ns
        FROM part
        GROUP BY process_id, device_id, graph_id, traced, correlation_id, alone
    )

SELECT
    process_id,
    device_id,
    graph_id,
    traced,
    count(*) AS launches,
    (sum(nodes) // count(nodes))::BIGINT AS nodes,
    sum(end_ns - start_ns)::BIGINT AS total_ns,
    avg(end_ns - start_ns) AS mean_ns,
    min(end_ns - start_ns) AS min_ns,
    max(end_ns - start_ns) AS max_ns,
    avg(call_end_ns - call_start_ns) AS call_mean_ns,
    max(call_end_ns - call_start_ns) AS call_max_ns,
    quantile_disc(start_ns - call_end_ns, 0.5) AS latency_p50_ns
FROM replay
GROUP BY process_id, device_id, graph_id, traced
ORDER BY
    total_ns DESC, process_id ASC, device_id ASC, graph_id ASC, traced ASC;
