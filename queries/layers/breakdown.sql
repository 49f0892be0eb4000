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
    asked AS (
        SELECT
            row_number() OVER (ORDER BY start_ns ASC, end_ns DESC, layer ASC)
                AS operator_id,
            process_id,
            thread_id,
            layer || chr(10) || coalesce(phase, '') AS name,
            source,
            layer,
            phase,
            start_ns,
            end_ns
        FROM layer
        WHERE end_ns IS NOT NULL
    ),
    launched AS NOT MATERIALIZED (FROM launch),
    timed AS (FROM operator_time('asked', 'launched')),
    numbered AS (
        SELECT
            name,
            process_id,
            thread_id,
            start_ns,
            end_ns,
            dense_rank() OVER (ORDER BY process_id, thread_id) AS key,
            operator_id AS place
        FROM asked
    ),
    thread_key AS (
        SELECT DISTINCT
            process_id,
            thread_id,
            key
        FROM numbered
    ),
    segment AS (FROM innermost_range('numbered')),
    worked AS (
        SELECT
            operator_flop.flop,
            operator_flop.start_ns,
            thread_key.key
        FROM operator_flop
        LEFT JOIN thread_key
            ON
                operator_flop.process_id IS NOT DISTINCT FROM thread_key.process_id
                AND operator_flop.thread_id IS NOT DISTINCT FROM thread_key.thread_id
        WHERE operator_flop.flop IS NOT NULL
    ),
    placed AS (
        SELECT
            worked.flop,
            segment.place
        FROM worked
        ASOF LEFT JOIN segment
            ON worked.key = segment.key AND worked.start_ns >= segment.at_ns
    ),
    flop AS (
        SELECT
            numbered.name,
            sum(placed.flop) AS flop_self
        FROM placed
        LEFT JOIN numbered ON placed.place = numbered.place
        GROUP BY numbered.name
    ),
    per_name AS (
        SELECT
            timed.name,
            any_value(asked.source) AS source,
            any_value(asked.layer) AS layer,
            any_value(asked.phase) AS phase,
            count(*) AS calls,
            sum(timed.host_total_ns) FILTER (WHERE NOT timed.is_repeated)
                AS host_total_ns,
            sum(timed.host_self_ns) AS host_self_ns,
            sum(timed.device_ns) FILTER (WHERE NOT timed.is_repeated)
                AS device_total_ns,
            sum(timed.device_self_ns) AS device_self_ns
        FROM timed
        INNER JOIN asked ON timed.operator_id = asked.operator_id
        GROUP BY timed.name
    ),
    outside AS (
        SELECT
            (
                SELECT coalesce(sum(activity.end_ns - activity.start_ns), 0)
                FROM gpu_activity AS activity
            )
            - coalesce(sum(device_self_ns), 0) AS device_self_ns
        FROM per_name
        HAVING count(*) > 0
    ),
    joined AS (
        SELECT
            per_name.*,
            flop.flop_self
        FROM per_name
        LEFT JOIN flop ON per_name.name = flop.name
        UNION ALL BY NAME
        SELECT
            outside.device_self_ns,
            outside.device_self_ns AS device_total_ns,
            flop.flop_self
        FROM outside
        LEFT JOIN flop ON flop.name IS NULL
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
