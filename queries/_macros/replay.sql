-- A step replayed with some of its GPU work changed.

-- The length of each stretch as recorded (step_ns), replayed without a change
-- (replayed_ns) and with it (predicted_ns). Names of tables like graph_stretch,
-- graph_work, graph_points, and one of activities with item and changed_ns, their new
-- duration.
--
-- A point happens at the latest of what it follows, each with a lag, and its own time
-- after that. Lags are 0, but that work follows its launch by the middle delay of those
-- launches that work waited for, or by its own if that is shorter. What is before the
-- stretch stays where it is.
CREATE MACRO replayed_steps(stretch_table, work_table, point_table, change_table)
AS TABLE (
    WITH
        stretch AS NOT MATERIALIZED (FROM query_table(stretch_table)),
        work AS NOT MATERIALIZED (FROM query_table(work_table)),
        point AS NOT MATERIALIZED (FROM query_table(point_table)),
        change AS NOT MATERIALIZED (FROM query_table(change_table)),
        origin AS (
            SELECT min(from_ns) AS origin_ns
            FROM stretch
        ),
        timed AS MATERIALIZED (
            SELECT
                point.number,
                point.key,
                point.at_ns,
                point.is_gpu,
                point.is_end,
                point.item,
                stretch.from_ns,
                stretch.to_ns,
                CASE WHEN point.at_ns > stretch.from_ns THEN point.by_own END AS by_own,
                CASE WHEN point.at_ns > stretch.from_ns THEN point.by_launch END
                    AS by_launch,
                CASE
                    WHEN point.at_ns > stretch.from_ns
                        THEN greatest(point.by_stream, point.by_event)
                END AS by_work,
                launched.at_ns AS launch_ns,
                worked.at_ns AS work_ns,
                own.at_ns AS own_ns
            FROM point
            INNER JOIN stretch ON point.key = stretch.key
            LEFT JOIN point AS launched ON point.by_launch = launched.number
            LEFT JOIN point AS worked
                ON greatest(point.by_stream, point.by_event) = worked.number
            LEFT JOIN point AS own ON point.by_own = own.number
        ),
        delay AS (
            SELECT
                key,
                quantile_disc(at_ns - launch_ns, 0.5) AS delay_ns
            FROM timed
            WHERE
                is_gpu AND NOT is_end AND launch_ns > from_ns
                AND launch_ns >= coalesce(work_ns, launch_ns)
            GROUP BY key
        ),
        lagged AS (
            SELECT
                timed.*,
                CASE
                    WHEN timed.is_gpu AND NOT timed.is_end
                        THEN least(
                            coalesce(delay.delay_ns, 0), timed.at_ns - timed.launch_ns
                        )
                    ELSE 0
                END AS launch_lag_ns
            FROM timed
            LEFT JOIN delay ON timed.key = delay.key
        ),
        ready AS MATERIALIZED (
            SELECT
                lagged.number,
                lagged.key,
                lagged.at_ns,
                lagged.is_gpu,
                lagged.is_end,
                lagged.by_own,
                lagged.by_launch,
                lagged.by_work,
                coalesce(lagged.launch_lag_ns, 0) AS launch_lag_ns,
                lagged.at_ns - coalesce(
                    greatest(
                        CASE WHEN lagged.by_own IS NOT NULL THEN lagged.own_ns END,
                        CASE
                            WHEN lagged.by_launch IS NOT NULL
                                THEN lagged.launch_ns + lagged.launch_lag_ns
                        END,
                        CASE WHEN lagged.by_work IS NOT NULL THEN lagged.work_ns END
                    ),
                    origin.origin_ns
                ) AS own_ns,
                change.changed_ns
            FROM lagged
            CROSS JOIN origin
            LEFT JOIN change
                ON lagged.item = change.item AND lagged.is_gpu AND lagged.is_end
        ),
        lists AS (
            SELECT
                list(coalesce(by_own, -1) ORDER BY number) AS by_own,
                list(coalesce(by_launch, -1) ORDER BY number) AS by_launch,
                list(coalesce(by_work, -1) ORDER BY number) AS by_work,
                list(0::bigint ORDER BY number) AS no_lag,
                list(launch_lag_ns ORDER BY number) AS launch_lag,
                list(own_ns ORDER BY number) AS own,
                list(coalesce(changed_ns, own_ns) ORDER BY number) AS changed
            FROM ready
        ),
        replays AS MATERIALIZED (
            SELECT
                replay(by_own, by_launch, by_work, no_lag, launch_lag, no_lag, own)
                    AS same,
                replay(by_own, by_launch, by_work, no_lag, launch_lag, no_lag, changed)
                    AS different
            FROM lists
        ),
        -- A row each: a list beside the rows of a join would be there once a row.
        moved AS MATERIALIZED (
            SELECT
                unnest(range(len(same))) AS number,
                unnest(same) AS same_ns,
                unnest(different) AS different_ns
            FROM replays
        ),
        -- The step's work, and the last call before the host's end.
        last_work AS (
            SELECT
                timed.key,
                max(timed.at_ns) AS at_ns,
                max(moved.same_ns) AS same_ns,
                max(moved.different_ns) AS different_ns
            FROM timed
            INNER JOIN work
                ON
                    timed.item = work.item
                    AND coalesce(work.call_start_ns, work.start_ns) >= work.from_ns
            INNER JOIN moved ON timed.number = moved.number
            WHERE timed.is_gpu AND timed.is_end
            GROUP BY timed.key
        ),
        last_call AS (
            SELECT
                key,
                max(number) AS number,
                max(at_ns) AS at_ns
            FROM timed
            WHERE NOT is_gpu AND is_end AND at_ns <= to_ns
            GROUP BY key
        )

    SELECT
        stretch.key,
        greatest(stretch.to_ns, last_work.at_ns) - stretch.from_ns AS step_ns,
        greatest(
            coalesce(
                stretch.to_ns - last_call.at_ns
                + moved.same_ns + origin.origin_ns,
                CASE WHEN last_work.at_ns IS NULL THEN stretch.to_ns END
            ),
            last_work.same_ns + origin.origin_ns
        ) - stretch.from_ns AS replayed_ns,
        greatest(
            coalesce(
                stretch.to_ns - last_call.at_ns
                + moved.different_ns + origin.origin_ns,
                CASE WHEN last_work.at_ns IS NULL THEN stretch.to_ns END
            ),
            last_work.different_ns + origin.origin_ns
        ) - stretch.from_ns AS predicted_ns
    FROM stretch
    CROSS JOIN origin
    LEFT JOIN last_work ON stretch.key = last_work.key
    LEFT JOIN last_call ON stretch.key = last_call.key
    LEFT JOIN moved ON last_call.number = moved.number
);
