-- The path through the execution graph that took the time of a stretch.

-- The pieces of the path: key, place (from 0, in order of time), start_ns, end_ns,
-- kind and, of what ran or was waited for, is_gpu and item. They follow each other
-- without a gap from the begin of the stretch to the end of its work. Backwards from
-- there, each point follows the last of those it had to wait for. Names of tables like
-- graph_stretch, graph_work and graph_points.
--
-- Kinds: running (GPU work), stream (the GPU after what ran before it), event (after
-- what an event or a graph waited for), launch (between a call and the work that it
-- launched), return (between the end of GPU work and that of a call that waited for
-- it), call, host (between calls), unknown (before the first thing that is known).
CREATE MACRO critical_pieces(stretch_table, work_table, point_table) AS TABLE (
    WITH
        stretch AS (
            SELECT *
            FROM query_table(stretch_table)
        ),
        work_of AS (
            SELECT *
            FROM query_table(work_table)
        ),
        point AS NOT MATERIALIZED (
            SELECT *
            FROM query_table(point_table)
        ),
        linked AS MATERIALIZED (
            SELECT
                point.number,
                point.key,
                point.at_ns,
                point.is_gpu,
                point.is_end,
                point.item,
                point.by_own,
                point.by_launch,
                point.by_stream,
                CASE
                    WHEN point.at_ns > stretch.from_ns
                        THEN greatest(
                            point.by_own, point.by_launch, point.by_stream,
                            point.by_event
                        )
                END AS previous
            FROM point
            INNER JOIN stretch ON point.key = stretch.key
        ),
        reach AS (
            SELECT
                key,
                max(reach_ns) AS reach_ns
            FROM work_of
            GROUP BY key
        ),
        finish AS (
            SELECT
                stretch.key,
                stretch.from_ns,
                stretch.to_ns,
                coalesce(reach.reach_ns, stretch.to_ns) AS reach_ns
            FROM stretch
            LEFT JOIN reach ON stretch.key = reach.key
        ),
        -- The end of the last work, or the last call before the host's end.
        last_point AS (
            SELECT
                finish.key,
                max(linked.number) AS number
            FROM finish
            INNER JOIN linked
                ON
                    finish.key = linked.key
                    AND linked.is_end
                    AND CASE
                        WHEN linked.is_gpu THEN finish.reach_ns = linked.at_ns
                        ELSE
                            finish.to_ns >= linked.at_ns
                            AND finish.reach_ns = finish.to_ns
                    END
            GROUP BY finish.key
        ),
        links AS (
            SELECT list(coalesce(previous, -1) ORDER BY number) AS previous
            FROM linked
        ),
        walked AS (
            SELECT
                last_point.key,
                unnest(walk_back(links.previous, last_point.number)) AS number
            FROM last_point
            CROSS JOIN links
        ),
        step AS (
            SELECT
                linked.key,
                linked.at_ns AS end_ns,
                lag(linked.at_ns) OVER in_order AS start_ns,
                lag(linked.is_gpu) OVER in_order AS after_gpu,
                linked.is_gpu,
                linked.is_end,
                linked.item,
                linked.previous,
                linked.by_own,
                linked.by_launch,
                linked.by_stream,
                lag(linked.is_end) OVER in_order AS after_end,
                lag(linked.item) OVER in_order AS before_item
            FROM walked
            INNER JOIN linked ON walked.number = linked.number
            WINDOW in_order AS (PARTITION BY linked.key ORDER BY linked.number)
        ),
        piece AS (
            SELECT
                key,
                start_ns,
                end_ns,
                CASE
                    WHEN is_gpu AND is_end THEN 'running'
                    WHEN is_gpu AND previous IS NULL
                        THEN if(by_launch IS NULL, 'unknown', 'launch')
                    -- Work that lets the next begin before it ends.
                    WHEN is_gpu AND after_gpu AND NOT after_end THEN 'running'
                    WHEN is_gpu AND previous = by_stream THEN 'stream'
                    WHEN is_gpu AND previous = by_launch AND NOT after_end THEN 'call'
                    WHEN is_gpu AND previous = by_launch THEN 'launch'
                    WHEN is_gpu THEN 'event'
                    WHEN is_end AND after_gpu THEN 'return'
                    WHEN is_end THEN 'call'
                    ELSE 'host'
                END AS kind,
                CASE
                    WHEN
                        is_gpu AND NOT is_end AND NOT after_end
                        AND (after_gpu OR previous = by_launch)
                        THEN after_gpu
                    ELSE is_gpu
                END AS is_gpu,
                CASE
                    WHEN
                        is_gpu AND NOT is_end AND NOT after_end
                        AND (after_gpu OR previous = by_launch)
                        THEN before_item
                    ELSE item
                END AS item
            FROM step
            UNION ALL
            -- What follows the last point: the host's end.
            SELECT
                finish.key,
                max(linked.at_ns) AS start_ns,
                finish.reach_ns AS end_ns,
                CASE WHEN max(linked.at_ns) IS NULL THEN 'unknown' ELSE 'host' END
                    AS kind,
                FALSE AS is_gpu,
                NULL AS item
            FROM finish
            LEFT JOIN last_point ON finish.key = last_point.key
            LEFT JOIN linked ON last_point.number = linked.number
            GROUP BY finish.key, finish.reach_ns
        )

    SELECT
        piece.key,
        greatest(coalesce(piece.start_ns, finish.from_ns), finish.from_ns) AS start_ns,
        piece.end_ns,
        piece.kind,
        piece.is_gpu,
        piece.item,
        finish.from_ns,
        finish.reach_ns
    FROM piece
    INNER JOIN finish ON piece.key = finish.key
    WHERE
        piece.end_ns
        > greatest(coalesce(piece.start_ns, finish.from_ns), finish.from_ns)
);

-- What bounds a program where its critical path has a piece of this kind.
CREATE MACRO bound_by(kind, activity, communicates) AS CASE
    WHEN kind = 'running' AND communicates THEN 'gpu_communication'
    WHEN kind = 'running' AND activity IN ('memcpy', 'memset') THEN 'gpu_copy'
    WHEN kind = 'running' THEN 'gpu_compute'
    WHEN kind = 'launch' THEN 'launch_delay'
    WHEN kind IN ('stream', 'event') THEN 'gpu_delay'
    WHEN kind = 'unknown' THEN 'unknown'
    ELSE 'host'
END;
