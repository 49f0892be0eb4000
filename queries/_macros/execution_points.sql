-- The points of the execution graph.

-- The points, in an order in which each comes after all that it follows: number (from
-- 0), key, at_ns, is_gpu, is_end, item (activity or call), and the numbers of up to
-- three points that it follows, NULL where there is none:
--   by_own     of an end its begin; of a call's begin the last end of a call;
--   by_launch  of an activity's begin its launch; of a call's end the GPU work waited
--              for;
--   by_stream  of an activity's begin what ran before it on the stream;
--   by_event   of an activity's begin what its stream or graph waited for.
-- Names of tables like graph_work, graph_calls, graph_events and sync.
CREATE MACRO graph_points(work_table, call_table, pair_table, wait_table) AS TABLE (
    WITH
        work AS NOT MATERIALIZED (FROM query_table(work_table)),
        call AS NOT MATERIALIZED (FROM query_table(call_table)),
        sync AS NOT MATERIALIZED (FROM query_table(wait_table)),
        pair AS NOT MATERIALIZED (FROM query_table(pair_table)),
        activity AS (
            SELECT
                work.item,
                work.key,
                work.lane,
                work.activity,
                work.start_ns,
                work.end_ns,
                call.call
            FROM work
            LEFT JOIN call
                ON
                    work.key = call.key
                    AND work.thread_id = call.thread_id
                    AND work.call_start_ns = call.start_ns
                    AND work.call_end_ns = call.end_ns
                    AND work.call_name = call.name
                    AND work.correlation_id = call.correlation_id
        ),
        lane AS (
            SELECT DISTINCT
                key,
                stream,
                lane
            FROM work
        ),
        -- The stream that a call waits for, where it was recorded.
        awaited AS (
            SELECT
                call.call,
                min(lane.lane) AS lane
            FROM sync
            INNER JOIN call
                ON
                    coalesce(sync.process_id, -1) = call.key
                    AND sync.correlation_id = call.correlation_id
            INNER JOIN lane
                ON
                    call.key = lane.key
                    AND lane.stream
                    = (sync.device_id, sync.context_id, sync.stream_id)
            GROUP BY call.call
        ),
        -- At one time GPU work ends first, then calls end, then those without length
        -- pass, then calls begin, then GPU work begins.
        event AS (
            SELECT
                key,
                unnest([start_ns, end_ns]) AS at_ns,
                unnest([4, 0]) AS class,
                TRUE AS is_gpu,
                unnest([FALSE, TRUE]) AS is_end,
                item,
                call,
                lane,
                activity IN ('memcpy', 'memset') AS moves,
                FALSE AS waits,
                FALSE AS lets_wait
            FROM activity
            UNION ALL
            SELECT
                call.key,
                unnest([call.start_ns, call.end_ns]) AS at_ns,
                unnest(
                    CASE WHEN call.end_ns > call.start_ns THEN [3, 1] ELSE [2, 2] END
                ) AS class,
                FALSE AS is_gpu,
                unnest([FALSE, TRUE]) AS is_end,
                call.call AS item,
                call.call,
                awaited.lane,
                FALSE AS moves,
                is_synchronize_call(call.name) AS waits,
                contains(call.name, 'StreamWaitEvent') AS lets_wait
            FROM call
            LEFT JOIN awaited ON call.call = awaited.call
        ),
        numbered AS (
            SELECT
                *,
                row_number() OVER (ORDER BY at_ns, class, item, is_end) - 1 AS number
            FROM event
        ),
        in_process AS (
            SELECT
                *,
                max(CASE WHEN is_end AND NOT is_gpu THEN number END)
                    OVER earlier AS call_before,
                max(CASE WHEN is_end AND is_gpu THEN number END)
                    OVER earlier AS work_before,
                max(CASE WHEN lets_wait THEN number END)
                    OVER earlier AS wait_before
            FROM numbered
            WINDOW
                earlier AS (
                    PARTITION BY key
                    ORDER BY number
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                )
        ),
        in_lane AS (
            SELECT
                *,
                max(CASE WHEN is_gpu AND is_end THEN number END)
                    OVER earlier AS lane_end,
                max(CASE WHEN is_gpu AND NOT is_end THEN number END)
                    OVER earlier AS lane_start,
                sum(CASE WHEN NOT is_gpu THEN 0 WHEN is_end THEN -1 ELSE 1 END)
                    OVER earlier AS running
            FROM in_process
            WINDOW
                earlier AS (
                    PARTITION BY lane
                    ORDER BY number
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                )
        ),
        in_call AS (
            SELECT
                *,
                max(CASE WHEN NOT is_gpu THEN number END)
                    OVER earlier AS call_point,
                max(CASE WHEN NOT is_gpu THEN wait_before END)
                    OVER earlier AS call_wait,
                max(CASE WHEN is_gpu AND is_end THEN number END)
                    OVER earlier AS call_work,
                max(
                    CASE WHEN is_gpu AND is_end AND moves THEN number END
                ) OVER earlier AS call_copy
            FROM in_lane
            WINDOW
                earlier AS (
                    PARTITION BY call
                    ORDER BY number
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                )
        ),
        in_item AS (
            SELECT
                *,
                lag(number) OVER (PARTITION BY is_gpu, item ORDER BY number) AS begun,
                CASE
                    WHEN is_gpu AND NOT is_end THEN lag(call_wait) OVER (
                        PARTITION BY is_gpu, is_end, lane
                        ORDER BY number
                    )
                END AS earlier_wait
            FROM in_call
        ),
        source AS (
            SELECT
                pair.item,
                numbered.number
            FROM pair
            INNER JOIN numbered
                ON pair.source = numbered.item AND numbered.is_gpu AND numbered.is_end
        ),
        recorded AS (
            SELECT count(*) > 0 AS events
            FROM query_table(pair_table)
        )

    SELECT
        point.number,
        point.key,
        point.at_ns,
        point.is_gpu,
        point.is_end,
        point.item,
        point.lane,
        CASE
            WHEN point.is_end THEN point.begun
            WHEN NOT point.is_gpu THEN point.call_before
        END AS by_own,
        CASE
            WHEN point.is_gpu AND NOT point.is_end AND point.call IS NOT NULL
                THEN point.call_point
            WHEN NOT point.is_gpu AND point.is_end
                THEN nullif(
                    greatest(
                        CASE
                            WHEN point.waits AND point.lane IS NOT NULL
                                THEN point.lane_end
                            WHEN point.waits THEN point.work_before
                        END,
                        CASE WHEN point.call IS NOT NULL THEN point.call_copy END,
                        point.begun
                    ),
                    point.begun
                )
        END AS by_launch,
        CASE
            WHEN point.is_gpu AND NOT point.is_end
                THEN CASE
                    WHEN point.running > 0 THEN point.lane_start
                    ELSE point.lane_end
                END
        END AS by_stream,
        CASE
            WHEN point.is_gpu AND NOT point.is_end
                THEN greatest(
                    CASE WHEN source.number < point.number THEN source.number END,
                    CASE
                        WHEN
                            NOT recorded.events
                            AND point.call_wait
                            > coalesce(point.earlier_wait, -1)
                            THEN point.work_before
                    END,
                    CASE WHEN point.call IS NOT NULL THEN point.call_work END
                )
        END AS by_event
    FROM in_item AS point
    CROSS JOIN recorded
    LEFT JOIN source
        ON point.item = source.item AND point.is_gpu AND NOT point.is_end
);
