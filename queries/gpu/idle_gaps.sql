-- gpu.idle_gaps: the longest times in which nothing ran on a GPU.
--
-- A gap lies between the intervals of gpu_activity, all united: kernels, copies, fills
-- and graphs that were traced as a whole. All gaps of a device and its gpu_busy_ns
-- (gpu.utilization) add up to the window. An activity of length 0 fills nothing and
-- parts no gap. With --process, work of other processes counts as nothing.
--
-- reads:
--   gpu_activity  clip
--   time_window   lookup
-- parameters:
--   limit   BIGINT = 20   Gaps to return, 0 for all.
--   min_ns  BIGINT = 0    Leave out shorter gaps.
-- columns:
--   device_id        INTEGER  The device, as in the device table.
--   start_ns         BIGINT   When the last activity before it ended.
--   end_ns           BIGINT   When the first activity after it began.
--   duration_ns      BIGINT   How long it lasted.
--   before_activity  VARCHAR  What ended: kernel, memcpy, memset or graph_launch; NULL
--                             where the window begins with the gap.
--   before_name      VARCHAR  Its name; the kind of a copy or of the memory filled.
--   after_activity   VARCHAR  What began; NULL where the window ends with the gap.
--   after_name       VARCHAR  Its name.

WITH
    -- What lies outside of the window is covered, from one of its spans to the next.
    outside AS (
        SELECT
            device_id,
            coalesce(
                lag(end_ns) OVER (PARTITION BY device_id ORDER BY start_ns), start_ns
            ) AS start_ns,
            start_ns AS end_ns
        FROM time_window
        UNION ALL
        SELECT
            device_id,
            max(end_ns) AS start_ns,
            max(end_ns) AS end_ns
        FROM time_window
        GROUP BY device_id
    ),
    covered AS (
        SELECT
            device_id,
            start_ns,
            end_ns
        FROM gpu_activity
        WHERE end_ns > start_ns
        UNION ALL
        SELECT
            device_id,
            start_ns,
            end_ns
        FROM outside
    ),
    reached AS (
        SELECT
            device_id,
            start_ns,
            max(end_ns) OVER (
                PARTITION BY device_id
                ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS covered_to
        FROM covered
    ),
    gap AS (
        SELECT
            device_id,
            covered_to AS start_ns,
            start_ns AS end_ns,
            start_ns - covered_to AS duration_ns
        FROM reached
        WHERE start_ns > covered_to AND start_ns - covered_to >= $min_ns
        ORDER BY duration_ns DESC, device_id ASC, start_ns ASC
        LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END
    ),
    -- Several may end or begin at once: the longest is named.
    ended AS (
        SELECT
            gap.device_id,
            gap.start_ns,
            gpu_activity.activity,
            gpu_activity.name,
            row_number() OVER (
                PARTITION BY gap.device_id, gap.start_ns
                ORDER BY
                    gpu_activity.start_ns ASC, gpu_activity.activity ASC,
                    gpu_activity.name ASC
            ) AS place
        FROM gap
        INNER JOIN gpu_activity
            ON
                gap.device_id = gpu_activity.device_id
                AND gap.start_ns = gpu_activity.end_ns
        WHERE gpu_activity.end_ns > gpu_activity.start_ns
    ),
    begun AS (
        SELECT
            gap.device_id,
            gap.end_ns,
            gpu_activity.activity,
            gpu_activity.name,
            row_number() OVER (
                PARTITION BY gap.device_id, gap.end_ns
                ORDER BY
                    gpu_activity.end_ns DESC, gpu_activity.activity ASC,
                    gpu_activity.name ASC
            ) AS place
        FROM gap
        INNER JOIN gpu_activity
            ON
                gap.device_id = gpu_activity.device_id
                AND gap.end_ns = gpu_activity.start_ns
        WHERE gpu_activity.end_ns > gpu_activity.start_ns
    )

SELECT
    gap.device_id,
    gap.start_ns,
    gap.end_ns,
    gap.duration_ns,
    ended.activity AS before_activity,
    ended.name AS before_name,
    begun.activity AS after_activity,
    begun.name AS after_name
FROM gap
LEFT JOIN ended
    ON
        gap.device_id = ended.device_id
        AND gap.start_ns = ended.start_ns
        AND ended.place = 1
LEFT JOIN begun
    ON
        gap.device_id = begun.device_id
        AND gap.end_ns = begun.end_ns
        AND begun.place = 1
ORDER BY gap.duration_ns DESC, gap.device_id ASC, gap.start_ns ASC;
