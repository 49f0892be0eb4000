-- Time of operators that nest: on the host by itself and with those inside, and on the
-- GPU by the calls that were made inside.

-- Takes the names of tables or CTEs: `operators` with the columns operator_id,
-- process_id, thread_id, name, start_ns and end_ns, and `launches` like launch, with a
-- further column flop. A row of launches without start_ns is no launch, but has FLOP
-- that were done at call_start_ns. One row an operator: host_total_ns, host_self_ns
-- (without the operators inside), device_ns and device_self_ns (work launched inside,
-- and launched inside of no operator within), kernels (work launched, by itself),
-- flop_self and flop_rows (how many had FLOP), and whether it is nested in one of its
-- name. A launch belongs to the operator that began last before its call and is open
-- then; of operators that coincide, the one of the higher operator_id is inside.
CREATE MACRO operator_time(operators, launches) AS TABLE (
    WITH
        asked AS MATERIALIZED (
            SELECT
                operator_id,
                name,
                start_ns,
                end_ns,
                process_id,
                thread_id
            FROM query_table(operators)
            WHERE end_ns IS NOT NULL
        ),
        thread_key AS (
            SELECT
                process_id,
                thread_id,
                row_number() OVER (ORDER BY process_id, thread_id) AS key
            FROM (
                SELECT DISTINCT
                    process_id,
                    thread_id
                FROM asked
            ) AS found
        ),
        numbered AS (
            SELECT
                asked.*,
                thread_key.key,
                row_number() OVER (
                    ORDER BY
                        asked.start_ns ASC, asked.end_ns DESC, asked.operator_id ASC
                ) AS place
            FROM asked
            INNER JOIN thread_key
                ON
                    asked.process_id IS NOT DISTINCT FROM thread_key.process_id
                    AND asked.thread_id IS NOT DISTINCT FROM thread_key.thread_id
        ),
        segment AS (
            SELECT
                key,
                at_ns,
                place
            FROM innermost_range('numbered')
        ),
        work AS NOT MATERIALIZED (FROM query_table(launches)),
        call AS (
            SELECT
                thread_key.key,
                launch.call_start_ns AS at_ns,
                launch.end_ns - launch.start_ns AS device_ns,
                launch.flop
            FROM work AS launch
            INNER JOIN thread_key
                ON
                    launch.process_id IS NOT DISTINCT FROM thread_key.process_id
                    AND launch.thread_id IS NOT DISTINCT FROM thread_key.thread_id
            WHERE launch.call_start_ns IS NOT NULL
        ),
        -- There are far fewer segments than calls.
        worked AS (
            SELECT
                segment.key,
                segment.at_ns,
                sum(call.device_ns)::bigint AS device_ns,
                count(call.device_ns) AS kernels,
                sum(call.flop) AS flop,
                count(call.flop) AS flop_rows
            FROM call
            ASOF INNER JOIN segment
                ON call.key = segment.key AND call.at_ns >= segment.at_ns
            GROUP BY segment.key, segment.at_ns
        ),
        -- Operators begin and end where segments do, so what was launched inside is the
        -- difference of what was launched before the one and the other.
        so_far AS (
            SELECT
                segment.key,
                segment.at_ns,
                segment.place,
                lead(segment.at_ns) OVER in_time - segment.at_ns AS length_ns,
                worked.device_ns,
                worked.kernels,
                worked.flop,
                worked.flop_rows,
                sum(worked.device_ns) OVER (
                    in_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                )::bigint AS before_ns
            FROM segment
            LEFT JOIN worked
                ON segment.key = worked.key AND segment.at_ns = worked.at_ns
            WINDOW in_time AS (PARTITION BY segment.key ORDER BY segment.at_ns)
        ),
        own AS (
            SELECT
                place,
                sum(length_ns)::bigint AS host_self_ns,
                sum(device_ns)::bigint AS device_self_ns,
                sum(kernels)::bigint AS kernels,
                sum(flop) AS flop_self,
                sum(flop_rows)::bigint AS flop_rows
            FROM so_far
            WHERE place IS NOT NULL
            GROUP BY place
        )

    SELECT
        numbered.process_id,
        numbered.thread_id,
        numbered.name,
        numbered.end_ns - numbered.start_ns AS host_total_ns,
        coalesce(own.host_self_ns, 0) AS host_self_ns,
        coalesce(till_end.before_ns, 0) - coalesce(till_start.before_ns, 0)
            AS device_ns,
        coalesce(own.device_self_ns, 0) AS device_self_ns,
        coalesce(own.kernels, 0) AS kernels,
        own.flop_self,
        coalesce(own.flop_rows, 0) AS flop_rows,
        coalesce(
            numbered.start_ns < max(numbered.end_ns) OVER (
                PARTITION BY numbered.key, numbered.name
                ORDER BY numbered.place
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            FALSE
        ) AS is_repeated
    FROM numbered
    LEFT JOIN so_far AS till_end
        ON numbered.key = till_end.key AND numbered.end_ns = till_end.at_ns
    LEFT JOIN so_far AS till_start
        ON numbered.key = till_start.key AND numbered.start_ns = till_start.at_ns
    LEFT JOIN own ON numbered.place = own.place
);
