-- steps.repeats: what each kernel, copy, operator and range takes, and how that varies.
--
-- What one compares two runs by. Kernels count by their canonical name, ranges without
-- the numbers that a profiler put behind them (`op_id`, `seq`, `sizes`), and without
-- those that mark the steps. A step takes what its process launched or began in it,
-- whole; the mean and the standard deviation are over all stable steps, one without the
-- part counts 0. Without calls a kernel belongs where it started. spread_ns says how
-- far total_ns varies by chance: each launch as those of the same kernel, grid and
-- block do, all of them independent. Times are summed, also of what ran at once.
--
-- reads:
--   launch       rows
--   operator     rows
--   annotation   rows
--   stable_step  lookup
-- columns:
--   kind                   VARCHAR  kernel, copy, operator or range.
--   part_name              VARCHAR  Its name.
--   instances              BIGINT   How often it occurs, in steps or not.
--   total_ns               BIGINT   Their summed duration.
--   spread_ns              DOUBLE   Standard deviation of total_ns by chance.
--   steps                  BIGINT   Stable steps of all processes.
--   step_instances         DOUBLE   Mean number of them a step; NULL without steps.
--   step_instances_stddev  DOUBLE   Sample standard deviation; NULL for fewer than two.
--   step_mean_ns           DOUBLE   Mean of the summed duration a step.
--   step_stddev_ns         DOUBLE   Sample standard deviation; NULL for fewer than two.
-- scope: run

WITH
    stable AS MATERIALIZED (
        SELECT
            coalesce(process_id, -1) AS owner,
            start_ns,
            end_ns
        FROM stable_step
        WHERE stable
    ),
    marker AS (
        SELECT DISTINCT name
        FROM stable_step
        WHERE name IS NOT NULL
    ),
    part AS NOT MATERIALIZED (
        SELECT
            CASE
                WHEN activity IN ('kernel', 'graph_launch') THEN 'kernel'
                ELSE 'copy'
            END AS kind,
            coalesce(canonical_name, name, activity) AS part_name,
            coalesce(process_id, -1) AS owner,
            coalesce(call_start_ns, start_ns) AS begun_ns,
            end_ns - start_ns AS duration_ns,
            hash(grid_x, grid_y, grid_z, block_x, block_y, block_z, bytes) AS shape
        FROM launch
        UNION ALL
        SELECT
            'operator' AS kind,
            name AS part_name,
            coalesce(process_id, -1) AS owner,
            start_ns AS begun_ns,
            end_ns - start_ns AS duration_ns,
            hash(input_shapes) AS shape
        FROM operator
        WHERE end_ns IS NOT NULL
        UNION ALL
        SELECT
            'range' AS kind,
            regexp_replace(
                range_name(domain, text),
                ', (op_id|seq|stashed seq|stashed tid|sizes|input_op_ids) = .*$',
                ''
            ) AS part_name,
            coalesce(process_id, -1) AS owner,
            start_ns AS begun_ns,
            end_ns - start_ns AS duration_ns,
            0::UBIGINT AS shape
        FROM annotation
        WHERE
            kind <> 'mark'
            AND end_ns IS NOT NULL
            AND NOT coalesce(text IN (SELECT marker.name FROM marker), FALSE)
    ),
    placed AS (
        SELECT
            part.*,
            CASE WHEN part.begun_ns < stable.end_ns THEN stable.start_ns END
                AS step_start_ns
        FROM part
        ASOF LEFT JOIN stable
            ON part.owner = stable.owner AND part.begun_ns >= stable.start_ns
    ),
    of_shape AS MATERIALIZED (
        SELECT
            kind,
            part_name,
            owner,
            step_start_ns,
            shape,
            count(*) AS instances,
            sum(duration_ns)::BIGINT AS total_ns,
            sum(duration_ns::DOUBLE * duration_ns) AS squares
        FROM placed
        GROUP BY kind, part_name, owner, step_start_ns, shape
    ),
    by_shape AS (
        SELECT
            kind,
            part_name,
            sum(instances)::BIGINT AS instances,
            sum(total_ns)::BIGINT AS total_ns,
            CASE
                WHEN sum(instances) > 1
                    THEN
                        sum(instances)
                        * greatest(
                            sum(squares)
                            - sum(total_ns)::DOUBLE ** 2 / sum(instances),
                            0
                        )
                        / (sum(instances) - 1)
                ELSE 0
            END AS variance
        FROM of_shape
        GROUP BY kind, part_name, shape
    ),
    whole AS (
        SELECT
            kind,
            part_name,
            sum(instances)::BIGINT AS instances,
            sum(total_ns)::BIGINT AS total_ns,
            sqrt(sum(variance)) AS spread_ns
        FROM by_shape
        GROUP BY kind, part_name
    ),
    in_step AS (
        SELECT
            kind,
            part_name,
            sum(instances)::DOUBLE AS instances,
            sum(total_ns)::DOUBLE AS total_ns
        FROM of_shape
        WHERE step_start_ns IS NOT NULL
        GROUP BY kind, part_name, owner, step_start_ns
    ),
    summed AS (
        SELECT
            kind,
            part_name,
            sum(instances) AS instances,
            sum(instances ** 2) AS instance_squares,
            sum(total_ns) AS total_ns,
            sum(total_ns ** 2) AS squares
        FROM in_step
        GROUP BY kind, part_name
    ),
    stable_steps AS (
        SELECT count(*) AS steps
        FROM stable
    )

SELECT
    whole.kind,
    whole.part_name,
    whole.instances,
    whole.total_ns,
    whole.spread_ns,
    stable_steps.steps,
    CASE
        WHEN stable_steps.steps > 0
            THEN coalesce(summed.instances, 0) / stable_steps.steps
    END AS step_instances,
    CASE
        WHEN stable_steps.steps > 1
            THEN
                sqrt(
                    greatest(
                        coalesce(summed.instance_squares, 0)
                        - coalesce(summed.instances, 0) ** 2 / stable_steps.steps,
                        0
                    )
                    / (stable_steps.steps - 1)
                )
    END AS step_instances_stddev,
    CASE
        WHEN stable_steps.steps > 0
            THEN coalesce(summed.total_ns, 0) / stable_steps.steps
    END AS step_mean_ns,
    CASE
        WHEN stable_steps.steps > 1
            THEN
                sqrt(
                    greatest(
                        coalesce(summed.squares, 0)
                        - coalesce(summed.total_ns, 0) ** 2 / stable_steps.steps,
                        0
                    )
                    / (stable_steps.steps - 1)
                )
    END AS step_stddev_ns
FROM whole
CROSS JOIN stable_steps
LEFT JOIN summed
    ON
        whole.kind = summed.kind
        AND whole.part_name IS NOT DISTINCT FROM summed.part_name
ORDER BY whole.total_ns DESC, whole.kind ASC, whole.part_name ASC;
