-- quality.capture: what a capture lacks, and what in it needs care.
--
-- One row per check, or one per kind of finding, over the whole capture. A check that
-- cannot be made has no count, and says why. What the checks find:
--
-- kernels_without_launch: kernels whose API call was not recorded, as at the edge of a
-- captured window; launches.summary leaves them out. launches_without_work: API calls
-- that launch and that no GPU activity belongs to, as in a graph that is only recorded.
-- ids_of_several_processes: correlation ids that do not tell processes apart.
-- ids_of_several_kernels: correlation ids that several kernels share, as in a graph.
-- open_ranges: annotations without an end. zero_durations: GPU activities of length 0.
-- graph_launches: graphs traced as a whole, whose kernels are not known one by one.
-- failed_calls: API calls that returned an error; 600, not ready, is an answer.
-- rejected_rows: rows of the capture that no metric counts. diagnostics: messages of
-- the profiler or the converter. profiler_overhead: spans that the profiler cost.
-- counters_without_kernel: measured launches that match no kernel of the timeline.
-- kernels_without_counters: kernels that have none, where others have.
--
-- reads:
--   gpu_activity  lookup
--   api_call      lookup
--   correlation   lookup
--   annotation    lookup
--   overhead      lookup
--   rejected      lookup
--   diagnostic    lookup
--   kernel_metric lookup
-- needs:
--   nothing
-- columns:
--   check_name  VARCHAR  The check.
--   severity    VARCHAR  ok where nothing was found, unknown where the check cannot be
--                        made, else info, warning or error.
--   count       BIGINT   How often it was found; NULL where it cannot be told.
--   total_ns    BIGINT   Summed duration of the spans of profiler_overhead.
--   detail      VARCHAR  What was found, or why the check cannot be made.

WITH
    activity_totals AS (
        SELECT
            count(*) AS activities,
            count(*) FILTER (WHERE activity = 'kernel') AS kernels,
            count(*) FILTER (WHERE activity = 'graph_launch') AS graphs,
            count(*) FILTER (WHERE end_ns = start_ns) AS empty_activities,
            count(correlation_id) AS correlated,
            count(correlation_id) FILTER (WHERE activity = 'kernel')
                AS correlated_kernels
        FROM gpu_activity
    ),
    call AS NOT MATERIALIZED (
        SELECT
            name,
            return_value,
            -- cudaErrorNotReady says that work is not done yet.
            return_value NOT IN (0, 600) AS is_failure,
            is_launch_call(name) AND coalesce(return_value, 0) = 0 AS is_launch
        FROM api_call
        WHERE domain IS DISTINCT FROM 'backtrace'
    ),
    call_totals AS (
        SELECT
            count(*) AS calls,
            count(return_value) AS answers,
            count(*) FILTER (WHERE is_failure) AS failures,
            count(*) FILTER (WHERE is_launch) AS launches
        FROM call
    ),
    -- The view is asked once, for four checks.
    matched AS MATERIALIZED (
        SELECT
            kernels_without_launch,
            launches_without_work,
            ids_of_several_processes,
            ids_of_several_kernels,
            kernels_that_share_ids
        FROM correlation
    ),
    range_totals AS (
        SELECT
            count(*) AS ranges,
            count(*) FILTER (WHERE end_ns IS NULL) AS open_ranges
        FROM annotation
        WHERE kind <> 'mark'
    ),
    failure AS (
        SELECT
            name || ' returned ' || return_value || ' (' || count(*) || ' x)' AS text,
            row_number() OVER (
                ORDER BY count(*) DESC, name ASC, return_value ASC
            ) AS place
        FROM call
        WHERE is_failure
        GROUP BY name, return_value
    ),
    failures AS (
        SELECT string_agg(text, ', ' ORDER BY place ASC) AS most_frequent
        FROM failure
        WHERE place <= 5
    ),
    measured AS (
        SELECT
            tool,
            launch_index,
            count(kernel_id) > 0 AS is_matched
        FROM kernel_metric
        WHERE launch_index IS NOT NULL
        GROUP BY tool, launch_index
    ),
    launch_totals AS (
        SELECT
            count(*) AS launches,
            count(*) FILTER (WHERE NOT is_matched) AS unmatched
        FROM measured
    ),
    counted AS (
        SELECT count(DISTINCT kernel_id) AS kernels
        FROM kernel_metric
        WHERE launch_index IS NOT NULL
    ),
    counter_totals AS (
        SELECT
            launch_totals.launches,
            launch_totals.unmatched,
            counted.kernels
        FROM launch_totals, counted
    ),
    finding AS (
        SELECT
            1 AS place,
            'kernels_without_launch' AS check_name,
            'warning' AS found_severity,
            CASE
                WHEN activity_totals.kernels > 0 AND call_totals.calls > 0
                    THEN matched.kernels_without_launch
            END AS count,
            NULL::BIGINT AS total_ns,
            CASE
                WHEN activity_totals.kernels = 0 THEN 'no kernel was recorded'
                WHEN call_totals.calls = 0 THEN 'no API call was recorded'
                ELSE 'of ' || activity_totals.kernels || ' kernels'
            END AS detail
        FROM activity_totals, call_totals, matched
        UNION ALL
        SELECT
            2 AS place,
            'launches_without_work' AS check_name,
            'warning' AS found_severity,
            CASE WHEN call_totals.calls > 0 THEN matched.launches_without_work END
                AS count,
            NULL AS total_ns,
            CASE
                WHEN call_totals.calls = 0 THEN 'no API call was recorded'
                ELSE 'of ' || call_totals.launches || ' calls that launch'
            END AS detail
        FROM call_totals, matched
        UNION ALL
        SELECT
            3 AS place,
            'ids_of_several_processes' AS check_name,
            'info' AS found_severity,
            CASE
                WHEN activity_totals.correlated > 0
                    THEN matched.ids_of_several_processes
            END AS count,
            NULL AS total_ns,
            CASE
                WHEN activity_totals.correlated = 0
                    THEN 'no GPU activity with a correlation id was recorded'
                ELSE 'correlation ids of GPU activities'
            END AS detail
        FROM activity_totals, matched
        UNION ALL
        SELECT
            4 AS place,
            'ids_of_several_kernels' AS check_name,
            'info' AS found_severity,
            CASE
                WHEN activity_totals.correlated_kernels > 0
                    THEN matched.ids_of_several_kernels
            END AS count,
            NULL AS total_ns,
            CASE
                WHEN activity_totals.correlated_kernels = 0
                    THEN 'no kernel with a correlation id was recorded'
                ELSE
                    'correlation ids, of '
                    || matched.kernels_that_share_ids || ' kernels'
            END AS detail
        FROM activity_totals, matched
        UNION ALL
        SELECT
            5 AS place,
            'open_ranges' AS check_name,
            'info' AS found_severity,
            CASE WHEN ranges > 0 THEN open_ranges END AS count,
            NULL AS total_ns,
            CASE
                WHEN ranges = 0 THEN 'no range was recorded'
                ELSE 'of ' || ranges || ' ranges'
            END AS detail
        FROM range_totals
        UNION ALL
        SELECT
            6 AS place,
            'zero_durations' AS check_name,
            'info' AS found_severity,
            CASE WHEN activities > 0 THEN empty_activities END AS count,
            NULL AS total_ns,
            CASE
                WHEN activities = 0 THEN 'no GPU activity was recorded'
                ELSE 'of ' || activities || ' GPU activities'
            END AS detail
        FROM activity_totals
        UNION ALL
        SELECT
            7 AS place,
            'graph_launches' AS check_name,
            'warning' AS found_severity,
            CASE WHEN activities > 0 THEN graphs END AS count,
            NULL AS total_ns,
            CASE
                WHEN activities = 0 THEN 'no GPU activity was recorded'
                WHEN graphs = 0 THEN 'no graph was traced as a whole'
                ELSE 'graphs traced as a whole: figures of kernels are lower bounds'
            END AS detail
        FROM activity_totals
        UNION ALL
        SELECT
            8 AS place,
            'failed_calls' AS check_name,
            'warning' AS found_severity,
            CASE WHEN call_totals.answers > 0 THEN call_totals.failures END AS count,
            NULL AS total_ns,
            CASE
                WHEN call_totals.answers = 0
                    THEN 'no result of an API call was recorded'
                WHEN call_totals.failures = 0
                    THEN 'of ' || call_totals.answers || ' calls'
                ELSE failures.most_frequent
            END AS detail
        FROM call_totals, failures
        UNION ALL
        SELECT
            9 AS place,
            'rejected_rows' AS check_name,
            'warning' AS found_severity,
            count(*) AS count,
            NULL AS total_ns,
            table_name || ': ' || reason AS detail
        FROM rejected
        GROUP BY table_name, reason
        UNION ALL
        SELECT
            9 AS place,
            'rejected_rows' AS check_name,
            'warning' AS found_severity,
            0 AS count,
            NULL AS total_ns,
            'no row was rejected' AS detail
        WHERE NOT EXISTS (FROM rejected)
        UNION ALL
        SELECT
            10 AS place,
            'diagnostics' AS check_name,
            severity AS found_severity,
            count(*) AS count,
            NULL AS total_ns,
            'messages of the ' || source AS detail
        FROM diagnostic
        GROUP BY severity, source
        UNION ALL
        SELECT
            10 AS place,
            'diagnostics' AS check_name,
            'info' AS found_severity,
            0 AS count,
            NULL AS total_ns,
            'no message was recorded' AS detail
        WHERE NOT EXISTS (FROM diagnostic)
        UNION ALL
        SELECT
            11 AS place,
            'profiler_overhead' AS check_name,
            'info' AS found_severity,
            count(*) AS count,
            sum(end_ns - start_ns)::BIGINT AS total_ns,
            coalesce(kind, 'of a kind that was not recorded') AS detail
        FROM overhead
        GROUP BY kind
        UNION ALL
        SELECT
            11 AS place,
            'profiler_overhead' AS check_name,
            'info' AS found_severity,
            NULL AS count,
            NULL AS total_ns,
            'the profiler recorded no overhead of its own' AS detail
        WHERE NOT EXISTS (FROM overhead)
        UNION ALL
        SELECT
            12 AS place,
            'counters_without_kernel' AS check_name,
            'warning' AS found_severity,
            CASE WHEN counter_totals.launches > 0 THEN counter_totals.unmatched END
                AS count,
            NULL AS total_ns,
            CASE
                WHEN counter_totals.launches = 0 THEN 'no counters of kernels are here'
                ELSE 'of ' || counter_totals.launches || ' measured launches'
            END AS detail
        FROM counter_totals
        UNION ALL
        SELECT
            13 AS place,
            'kernels_without_counters' AS check_name,
            'info' AS found_severity,
            CASE
                WHEN counter_totals.launches > 0
                    THEN activity_totals.kernels - counter_totals.kernels
            END AS count,
            NULL AS total_ns,
            CASE
                WHEN counter_totals.launches = 0 THEN 'no counters of kernels are here'
                ELSE 'of ' || activity_totals.kernels || ' kernels'
            END AS detail
        FROM counter_totals, activity_totals
    )

SELECT
    check_name,
    CASE
        WHEN count IS NULL THEN 'unknown'
        WHEN count = 0 THEN 'ok'
        ELSE found_severity
    END AS severity,
    count,
    total_ns,
    detail
FROM finding
ORDER BY place ASC, count DESC, found_severity ASC, detail ASC;
