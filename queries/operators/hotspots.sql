-- operators.hotspots: which framework operators take time, on the host and the GPU.
--
-- Self time is that of no operator inside; a total counts an operator nested in one of
-- the same name (or shape) once. GPU work, kernels, copies and fills, belongs to the
-- operator in which its launch was called, on the same thread: self to the innermost,
-- and in total to all around it. Work that ran at once counts twice. Work whose call
-- was not recorded belongs to none. Operators count whole if they start in the window.
--
-- reads:
--   operator  rows
--   launch    lookup
-- needs:
--   operator
-- parameters:
--   by     VARCHAR = name           One of name or shape: how operators are told apart.
--   order  VARCHAR = device_self    One of device_self, device_total, host_self or
--                                   host_total: what the rows are sorted by.
--   limit  BIGINT = 20              Rows to return, 0 for all.
-- columns:
--   operator_name      VARCHAR  The operator.
--   input_shapes       VARCHAR  Sizes of its inputs; NULL unless by shape.
--   calls              BIGINT   Calls that were counted.
--   host_total_ns      BIGINT   Time on the host, with operators inside.
--   host_self_ns       BIGINT   Time on the host, without them.
--   device_total_ns    BIGINT   Time of the GPU work launched inside; NULL where no
--                               launch was recorded.
--   device_self_ns     BIGINT   Of that, launched inside of no operator within.
--   launches           BIGINT   GPU work launched by itself.
--   host_self_share    DOUBLE   host_self_ns over that of all operators, 0 to 1.
--   device_self_share  DOUBLE   device_self_ns over that of all operators, 0 to 1.

WITH
    asked AS NOT MATERIALIZED (
        SELECT
            operator_id,
            process_id,
            thread_id,
            CASE
                WHEN $by = 'shape' THEN name || chr(10) || coalesce(input_shapes, '')
                ELSE name
            END AS name,
            start_ns,
            end_ns
        FROM operator
    ),
    launched AS NOT MATERIALIZED (
        SELECT
            *,
            NULL::DOUBLE AS flop
        FROM launch
    ),
    traced AS (
        SELECT count(*) > 0 AS has_launches
        FROM launch
        WHERE call_start_ns IS NOT NULL
    ),
    per_name AS (
        SELECT
            name,
            count(*) AS calls,
            coalesce(sum(host_total_ns) FILTER (WHERE NOT is_repeated), 0)::BIGINT
                AS host_total_ns,
            sum(host_self_ns)::BIGINT AS host_self_ns,
            coalesce(sum(device_ns) FILTER (WHERE NOT is_repeated), 0)::BIGINT
                AS device_total_ns,
            sum(device_self_ns)::BIGINT AS device_self_ns,
            sum(kernels)::BIGINT AS launches
        FROM operator_time('asked', 'launched')
        GROUP BY name
    )

SELECT
    split_part(per_name.name, chr(10), 1) AS operator_name,
    CASE
        WHEN $by = 'shape' THEN nullif(split_part(per_name.name, chr(10), 2), '')
    END AS input_shapes,
    per_name.calls,
    per_name.host_total_ns,
    per_name.host_self_ns,
    CASE WHEN traced.has_launches THEN per_name.device_total_ns END AS device_total_ns,
    CASE WHEN traced.has_launches THEN per_name.device_self_ns END AS device_self_ns,
    CASE WHEN traced.has_launches THEN per_name.launches END AS launches,
    per_name.host_self_ns / nullif(sum(per_name.host_self_ns) OVER (), 0)
        AS host_self_share,
    CASE
        WHEN traced.has_launches
            THEN
                per_name.device_self_ns
                / nullif(sum(per_name.device_self_ns) OVER (), 0)
    END AS device_self_share
FROM per_name
CROSS JOIN traced
ORDER BY
    CASE $order
        WHEN 'device_total' THEN per_name.device_total_ns
        WHEN 'host_self' THEN per_name.host_self_ns
        WHEN 'host_total' THEN per_name.host_total_ns
        ELSE per_name.device_self_ns
    END DESC,
    per_name.host_self_ns DESC, per_name.name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
