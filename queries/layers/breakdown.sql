-- layers.breakdown: time and FLOP of the model's layers, as modules or NVTX ranges.
--
-- Layers are the modules that the profiler recorded; without any, the NVTX ranges of
-- push and pop that name no operator. Self is what belongs to no layer inside; a total
-- counts a layer nested in one of the same name once. GPU work, kernels, copies and
-- fills, belongs to the layer in which its launch was called, on the same thread. So
-- the backward part, which another thread launches in PyTorch, is in no layer; one row
-- without a name has what is in none. FLOP come from the shapes of operators. Layers
-- count whole if they start in the window.
--
-- reads:
--   module         rows
--   annotation     rows
--   launch         rows
--   gpu_activity   rows
--   operator_flop  rows
-- needs:
--   module|annotation
-- parameters:
--   limit  BIGINT = 20    Rows to return, 0 for all.
-- columns:
--   source           VARCHAR  module or annotation; NULL for what is in no layer.
--   layer            VARCHAR  Path or name of the module, or text of the range.
--   phase            VARCHAR  forward, backward or optimizer, where it was recorded.
--   calls            BIGINT   Calls that were counted.
--   host_total_ns    BIGINT   Time on the host, with layers inside.
--   host_self_ns     BIGINT   Time on the host, without them.
--   device_total_ns  BIGINT   Time of the GPU work launched inside.
--   device_self_ns   BIGINT   Of that, launched inside of no layer within.
--   flop_self        DOUBLE   FLOP of operators inside of no layer within; NULL where
--                             no shapes are recorded.

WITH
    moduled AS (
        SELECT count(*) > 0 AS has_modules
        FROM recorded.module
    ),
    layer AS (
        SELECT
            'module' AS source,
            coalesce(path, name) AS layer,
            phase,
            process_id,
            thread_id,
            start_ns,
            end_ns
        FROM module
        UNION ALL
        SELECT
            'annotation' AS source,
            annotation.text AS layer,
            NULL AS phase,
            annotation.process_id,
            annotation.thread_id,
            annotation.start_ns,
            annotation.end_ns
        FROM annotation
        CROSS JOIN moduled
        WHERE
            NOT moduled.has_modules AND annotation.kind = 'push_pop'
            AND NOT regexp_matches(annotation.text, ', op_id = |^(aten|autograd)::')
    ),
    asked AS NOT MATERIALIZED (
        SELECT
            process_id,
            thread_id,
            layer || chr(10) || coalesce(phase, '') AS name,
            name AS operator_id,
            start_ns,
            end_ns
        FROM layer
        WHERE end_ns IS NOT NULL
    ),
    named AS (
        SELECT DISTINCT
            source,
            layer,
            phase,
            layer || chr(10) || coalesce(phase, '') AS name
        FROM layer
    ),
    launched AS NOT MATERIALIZED (
        SELECT
            process_id,
            thread_id,
            call_start_ns,
            start_ns,
            end_ns,
            NULL AS flop
        FROM launch
        UNION ALL
        SELECT
            process_id,
            thread_id,
            start_ns AS call_start_ns,
            NULL AS start_ns,
            NULL AS end_ns,
            flop
        FROM operator_flop
        WHERE flop IS NOT NULL
    ),
    per_name AS (
        SELECT
            name,
            count(*) AS calls,
            sum(host_total_ns) FILTER (WHERE NOT is_repeated) AS host_total_ns,
            sum(host_self_ns) AS host_self_ns,
            sum(device_ns) FILTER (WHERE NOT is_repeated) AS device_total_ns,
            sum(device_self_ns) AS device_self_ns,
            sum(flop_self) AS flop_self,
            sum(flop_rows) AS flop_rows
        FROM operator_time('asked', 'launched')
        GROUP BY name
    ),
    worked AS (
        SELECT
            sum(flop) AS flop,
            count(flop) AS flop_rows
        FROM operator_flop
    ),
    active AS (
        SELECT coalesce(sum(activity.end_ns - activity.start_ns), 0) AS device_ns
        FROM gpu_activity AS activity
    ),
    outside AS (
        SELECT
            any_value(active.device_ns) - sum(per_name.device_self_ns)
                AS device_self_ns,
            CASE
                WHEN any_value(worked.flop_rows) > sum(per_name.flop_rows)
                    THEN
                        any_value(worked.flop)
                        - coalesce(sum(per_name.flop_self), 0)
            END AS flop_self
        FROM per_name
        CROSS JOIN active
        CROSS JOIN worked
        HAVING count(*) > 0
    ),
    joined AS (
        SELECT
            named.source,
            named.layer,
            named.phase,
            per_name.*
        FROM per_name
        INNER JOIN named ON per_name.name = named.name
        UNION ALL BY NAME
        SELECT
            device_self_ns,
            device_self_ns AS device_total_ns,
            flop_self
        FROM outside
    )

SELECT
    source,
    layer,
    phase,
    calls,
    host_total_ns::BIGINT AS host_total_ns,
    host_self_ns::BIGINT AS host_self_ns,
    device_total_ns::BIGINT AS device_total_ns,
    device_self_ns::BIGINT AS device_self_ns,
    flop_self
FROM joined
ORDER BY device_self_ns DESC, host_self_ns DESC, source ASC, layer ASC, phase ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
