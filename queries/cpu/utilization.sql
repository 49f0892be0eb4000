-- cpu.utilization: how much of the CPU's time was used.
--
-- Summed over cores, the time in which a thread was on the core, over cores x window.
-- The window reaches from the first to the last GPU activity; without any, from the
-- first to the last slice. `tree` counts the processes that were traced, `system` all;
-- where only those were recorded, `system` is not known. The cores should be those that
-- the processes may use, which captures do not say: `cores` tells it; else those of the
-- machine, or, where not recorded, those on which something ran.
--
-- reads:
--   cpu_slice     whole
--   api_call      lookup
--   annotation    lookup
--   os_call       lookup
--   gpu_activity  lookup
--   process       lookup
--   run_fact      lookup
--   time_window   lookup
-- needs:
--   cpu_slice
-- parameters:
--   cores  BIGINT = 0   Cores that the processes may use, 0 for those of the machine.
-- columns:
--   host                VARCHAR  Name of the machine.
--   cores               BIGINT   Cores that were counted.
--   cores_source        VARCHAR  parameter, machine or seen.
--   window_ns           BIGINT   Length of the window.
--   tree_ns             BIGINT   Summed time of the traced processes.
--   system_ns           BIGINT   Summed time of all processes.
--   tree_utilization    DOUBLE   tree_ns over cores x window_ns, 0 to 1.
--   system_utilization  DOUBLE   system_ns over cores x window_ns, 0 to 1.
--   mean_cores          DOUBLE   Cores that the traced processes kept busy on average.

WITH
    traced AS (
        SELECT process_id
        FROM api_call
        UNION
        SELECT process_id
        FROM annotation
        UNION
        SELECT process_id
        FROM os_call
        UNION
        SELECT process_id
        FROM gpu_activity
    ),
    -- The idle task of the operating system is no use of a core.
    slice AS (
        SELECT
            coalesce(cpu_slice.host, '') AS machine,
            cpu_slice.host,
            cpu_slice.cpu,
            cpu_slice.start_ns,
            cpu_slice.end_ns,
            traced.process_id IS NOT NULL AS in_tree
        FROM cpu_slice
        LEFT JOIN traced ON cpu_slice.process_id = traced.process_id
        LEFT JOIN process ON cpu_slice.process_id = process.process_id
        WHERE process.os_pid IS DISTINCT FROM 0
    ),
    working AS (
        SELECT
            min(start_ns) AS start_ns,
            max(end_ns) AS end_ns
        FROM time_window
    ),
    whole AS (
        SELECT
            coalesce(any_value(working.start_ns), min(slice.start_ns)) AS start_ns,
            coalesce(
                any_value(working.end_ns), max(coalesce(slice.end_ns, slice.start_ns))
            ) AS end_ns
        FROM slice
        CROSS JOIN working
    ),
    ran AS (
        SELECT
            (slice.machine, slice.cpu) AS key,
            CASE WHEN slice.in_tree THEN 0 ELSE 1 END AS layer,
            slice.start_ns,
            coalesce(slice.end_ns, whole.end_ns) AS end_ns
        FROM slice
        CROSS JOIN whole
    ),
    edge AS (
        SELECT DISTINCT
            (slice.machine, slice.cpu) AS key,
            unnest([whole.start_ns, whole.end_ns]) AS time_ns
        FROM slice
        CROSS JOIN whole
    ),
    per_host AS (
        SELECT
            key[1] AS machine,
            sum(layer_0_ns)::BIGINT AS tree_ns,
            sum(layer_0_ns + layer_1_ns)::BIGINT AS system_ns
        FROM cover('ran', 'edge')
        GROUP BY machine
    ),
    seen AS (
        SELECT
            machine,
            any_value(host) AS host,
            count(DISTINCT cpu) AS cores,
            bool_or(in_tree) AS has_tree,
            bool_or(NOT in_tree) AS has_others
        FROM slice
        GROUP BY machine
    ),
    machine_cores AS (
        SELECT max(try_cast(value AS BIGINT)) AS cores
        FROM run_fact
        WHERE key = 'cpu_cores'
    ),
    counted AS (
        SELECT
            seen.host,
            coalesce(nullif($cores::BIGINT, 0), machine_cores.cores, seen.cores)
                AS cores,
            CASE
                WHEN $cores > 0 THEN 'parameter'
                WHEN machine_cores.cores IS NOT NULL THEN 'machine'
                ELSE 'seen'
            END AS cores_source,
            whole.end_ns - whole.start_ns AS window_ns,
            CASE WHEN seen.has_tree THEN coalesce(per_host.tree_ns, 0) END AS tree_ns,
            CASE WHEN seen.has_others THEN coalesce(per_host.system_ns, 0) END
                AS system_ns
        FROM seen
        CROSS JOIN whole
        CROSS JOIN machine_cores
        LEFT JOIN per_host ON seen.machine = per_host.machine
    )

SELECT
    host,
    cores,
    cores_source,
    window_ns,
    tree_ns,
    system_ns,
    tree_ns / nullif(cores * window_ns, 0) AS tree_utilization,
    system_ns / nullif(cores * window_ns, 0) AS system_utilization,
    tree_ns / nullif(window_ns, 0) AS mean_cores
FROM counted
ORDER BY host ASC;
