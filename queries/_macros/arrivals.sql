-- When the ranks of a collective arrived at it.

-- Each rank's part in each collective, with the times of all parts: number, timed
-- (kernel or operator), communicator, operation, bytes, rank, process_id, device_id,
-- start_ns, end_ns, first_start_ns, last_start_ns, first_end_ns, last_end_ns, ranks
-- (how many parts there are) and `joint`: no part had ended before another began, as
-- it must be where all ranks exchange data. Collectives of one rank are left out.
--
-- Takes the names of two tables or CTEs, like collective and like kernel, with rank.
-- The rows of collective that are kernels count; without such a row the kernels that
-- communicate by their names; without these the operators that asked for them, whose
-- times are the host's. Ranks are joined by the sequence number of the communicator,
-- and without one the n-th operation of a kind on each rank is the n-th of all.
CREATE MACRO arrivals(collectives, kernels) AS TABLE (
    WITH
        named AS (
            SELECT DISTINCT name
            FROM query_table(kernels)
        ),
        -- A column and no filter: that would go down to the table, and run its
        -- patterns once a kernel instead of once a name.
        kind AS MATERIALIZED (
            SELECT
                name,
                is_communication_kernel(name) AS communicates
            FROM named
        ),
        communication AS NOT MATERIALIZED (
            SELECT *
            FROM query_table(kernels)
        ),
        operation AS (
            SELECT
                CASE source WHEN 'kernel' THEN 0 ELSE 2 END AS preference,
                communicator,
                ranks AS members,
                operation,
                sequence,
                bytes,
                rank,
                process_id,
                device_id,
                start_ns,
                end_ns
            FROM query_table(collectives)
            UNION ALL
            SELECT
                1 AS preference,
                NULL AS communicator,
                NULL AS members,
                coalesce(work.short_name, work.name) AS operation,
                NULL AS sequence,
                NULL AS bytes,
                work.rank,
                work.process_id,
                work.device_id,
                work.start_ns,
                work.end_ns
            FROM communication AS work
            INNER JOIN kind ON work.name = kind.name
            WHERE kind.communicates
        ),
        judged AS (
            SELECT
                *,
                min(preference) OVER () AS best
            FROM operation
        ),
        numbered AS (
            SELECT
                *,
                CASE
                    WHEN sequence IS NULL
                        THEN row_number() OVER (
                            PARTITION BY
                                rank, process_id, device_id,
                                communicator, members, operation
                            ORDER BY start_ns, end_ns
                        )
                END AS place
            FROM judged
            WHERE preference = best
        ),
        part AS (
            SELECT
                preference,
                communicator,
                members,
                operation,
                sequence,
                place,
                rank,
                process_id,
                device_id,
                max(bytes) AS bytes,
                min(start_ns) AS start_ns,
                max(end_ns) AS end_ns
            FROM numbered
            GROUP BY ALL
        ),
        whole AS (
            SELECT
                communicator,
                members,
                operation,
                sequence,
                place,
                count(*) AS ranks,
                min(start_ns) AS first_start_ns,
                max(start_ns) AS last_start_ns,
                min(end_ns) AS first_end_ns,
                max(end_ns) AS last_end_ns,
                row_number() OVER (
                    ORDER BY
                        min(start_ns), max(end_ns), communicator, members, operation,
                        sequence, place
                ) AS number
            FROM part
            GROUP BY communicator, members, operation, sequence, place
            HAVING count(*) > 1
        )

    SELECT
        whole.number,
        CASE part.preference WHEN 2 THEN 'operator' ELSE 'kernel' END AS timed,
        part.communicator,
        part.operation,
        part.bytes,
        part.rank,
        part.process_id,
        part.device_id,
        part.start_ns,
        part.end_ns,
        whole.first_start_ns,
        whole.last_start_ns,
        whole.first_end_ns,
        whole.last_end_ns,
        whole.ranks,
        whole.last_start_ns <= whole.first_end_ns AS joint
    FROM part
    INNER JOIN whole
        ON
            part.communicator IS NOT DISTINCT FROM whole.communicator
            AND part.members IS NOT DISTINCT FROM whole.members
            AND part.operation IS NOT DISTINCT FROM whole.operation
            AND part.sequence IS NOT DISTINCT FROM whole.sequence
            AND part.place IS NOT DISTINCT FROM whole.place
);
