-- Time of operators that nest: on the host by itself and with those inside, and on the
-- GPU by the calls that were made inside.

-- Takes the names of tables or CTEs: `operators` with the columns operator_id,
-- process_id, thread_id, name, start_ns and end_ns, and `launches` like launch. One row
-- an operator: host_total_ns, host_self_ns (without the operators inside), device_ns
-- and device_self_ns (work launched inside, and launched inside of no operator within),
-- kernels (work launched, by itself), and whether it is nested in one of its name. A
-- launch belongs to the operator that began last before its call and is open then.
CREATE MACRO operator_time(operators, launches) AS TABLE (
    WITH
        numbered AS (
            SELECT
                operator_id,
                name,
                start_ns,
                end_ns,
                dense_rank() OVER (ORDER BY process_id, thread_id) AS key,
                process_id,
                thread_id,
                row_number() OVER (
                    ORDER BY start_ns ASC, end_ns DESC, operator_id ASC
                ) AS place
            FROM query_table(operators)
            WHERE end_ns IS NOT NULL
        ),
        thread_key AS (
            SELECT DISTINCT
                process_id,
                thread_id,
                key
            FROM numbered
        ),
        segment AS (
            SELECT
                key,
                at_ns,
                place,
                lead(at_ns) OVER (PARTITION BY key ORDER BY at_ns) - at_ns AS length_ns
            FROM innermost_range('numbered')
        ),
        own AS (
            SELECT
                place,
                sum(length_ns)::bigint AS host_self_ns
            FROM segment
            WHERE place IS NOT NULL
            GROUP BY place
        ),
        work AS NOT MATERIALIZED (FROM query_table(launches)),
        call AS (
            SELECT
                thread_key.key,
                launch.call_start_ns AS at_ns,
                launch.end_ns - launch.start_ns AS device_ns
            FROM work AS launch
            INNER JOIN thread_key
                ON
                    launch.process_id IS NOT DISTINCT FROM thread_key.process_id
                    AND launch.thread_id IS NOT DISTINCT FROM thread_key.thread_id
            WHERE launch.call_start_ns IS NOT NULL
        ),
        launched AS (
            SELECT
                segment.place,
                sum(call.device_ns)::bigint AS device_self_ns,
                count(*) AS kernels
            FROM call
            ASOF INNER JOIN segment
                ON call.key = segment.key AND call.at_ns >= segment.at_ns
            WHERE segment.place IS NOT NULL
            GROUP BY segment.place
        ),
        -- What was launched up to a time; the difference of two is what was between.
        so_far AS (
            SELECT DISTINCT
                key,
                at_ns,
                sum(device_ns) OVER (PARTITION BY key ORDER BY at_ns)::bigint
                    AS device_ns
            FROM call
        ),
        timed AS (
            SELECT
                numbered.*,
                coalesce(till_end.device_ns, 0) - coalesce(till_start.device_ns, 0)
                    AS device_ns
            FROM numbered
            ASOF LEFT JOIN so_far AS till_end
                ON
                    numbered.key = till_end.key
                    AND numbered.end_ns > till_end.at_ns
            ASOF LEFT JOIN so_far AS till_start
                ON
                    numbered.key = till_start.key
                    AND numbered.start_ns > till_start.at_ns
        )

    SELECT
        timed.operator_id,
        timed.process_id,
        timed.thread_id,
        timed.name,
        timed.end_ns - timed.start_ns AS host_total_ns,
        coalesce(own.host_self_ns, 0) AS host_self_ns,
        timed.device_ns,
        coalesce(launched.device_self_ns, 0) AS device_self_ns,
        coalesce(launched.kernels, 0) AS kernels,
        coalesce(
            timed.start_ns < max(timed.end_ns) OVER (
                PARTITION BY timed.key, timed.name
                ORDER BY timed.place
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            FALSE
        ) AS is_repeated
    FROM timed
    LEFT JOIN own ON timed.place = own.place
    LEFT JOIN launched ON timed.place = launched.place
);
