-- steps.data_wait: how long each training step loaded data, and what that cost.
--
-- Loading is the union of the ranges and operators of the step's process that load
-- data by their names (`data_loader`, `IteratorGetNext`, `load_batch`, ...), or of
-- those whose text is `ranges`. What no GPU of the process hides is exposed. Loading
-- between the end of the step before and the start of this one stands by itself: many
-- programs fetch a batch outside of what they mark as a step. NULL where the process
-- has no such range.
--
-- reads:
--   stable_step   rows
--   annotation    lookup
--   operator      lookup
--   gpu_activity  lookup
-- needs:
--   step
-- parameters:
--   ranges  VARCHAR = auto   Text of the ranges that load data; auto knows usual names.
-- columns:
--   step_index         BIGINT   Number of the step.
--   process_id         INTEGER  The process, as in the process table.
--   duration_ns        BIGINT   Length of the step.
--   data_ns            BIGINT   Time in it in which data was loaded.
--   exposed_ns         BIGINT   Of it, time in which no GPU of the process worked.
--   data_share         DOUBLE   data_ns over duration_ns, 0 to 1.
--   before_ns          BIGINT   Time between the step before and this one in which data
--                               was loaded.
--   before_exposed_ns  BIGINT   Of it, time in which no GPU of the process worked.

WITH
    marked AS (
        SELECT
            step_index,
            process_id,
            start_ns,
            end_ns,
            coalesce(process_id, -1) AS key,
            lag(end_ns) OVER (PARTITION BY process_id ORDER BY start_ns, end_ns)
                AS ended_ns
        FROM stable_step
    ),
    loading AS (
        SELECT
            coalesce(process_id, -1) AS key,
            0 AS layer,
            start_ns,
            end_ns
        FROM annotation
        WHERE
            kind <> 'mark'
            AND end_ns IS NOT NULL
            AND CASE $ranges
                WHEN 'auto' THEN is_data_loading(text)
                ELSE text = $ranges
            END
        UNION ALL
        SELECT
            coalesce(process_id, -1) AS key,
            0 AS layer,
            start_ns,
            end_ns
        FROM operator
        WHERE
            CASE $ranges WHEN 'auto' THEN is_data_loading(name) ELSE name = $ranges END
    ),
    covering AS (
        SELECT
            coalesce(process_id, -1) AS key,
            0 AS layer,
            start_ns,
            end_ns
        FROM gpu_activity
        UNION ALL
        SELECT
            key,
            1 AS layer,
            start_ns,
            end_ns
        FROM loading
    ),
    edge AS (
        SELECT
            key,
            unnest([start_ns, end_ns]) AS time_ns
        FROM marked
    ),
    loaded AS (
        SELECT
            data.key,
            data.start_ns,
            data.end_ns,
            data.layer_0_ns AS data_ns,
            shown.layer_1_ns AS exposed_ns
        FROM cover('loading', 'edge') AS data
        INNER JOIN cover('covering', 'edge') AS shown
            ON
                data.key = shown.key
                AND data.start_ns = shown.start_ns
                AND data.end_ns = shown.end_ns
    ),
    loader AS (
        SELECT DISTINCT key
        FROM loading
    )

SELECT
    marked.step_index,
    marked.process_id,
    marked.end_ns - marked.start_ns AS duration_ns,
    CASE WHEN loader.key IS NOT NULL THEN coalesce(inside.data_ns, 0) END AS data_ns,
    CASE WHEN loader.key IS NOT NULL THEN coalesce(inside.exposed_ns, 0) END
        AS exposed_ns,
    inside.data_ns / nullif(marked.end_ns - marked.start_ns, 0) AS data_share,
    CASE WHEN loader.key IS NOT NULL THEN coalesce(before.data_ns, 0) END AS before_ns,
    CASE WHEN loader.key IS NOT NULL THEN coalesce(before.exposed_ns, 0) END
        AS before_exposed_ns
FROM marked
LEFT JOIN loader ON marked.key = loader.key
LEFT JOIN loaded AS inside
    ON
        loader.key = inside.key
        AND marked.start_ns = inside.start_ns
        AND marked.end_ns = inside.end_ns
LEFT JOIN loaded AS before
    ON
        loader.key = before.key
        AND marked.ended_ns = before.start_ns
        AND marked.start_ns = before.end_ns
ORDER BY marked.start_ns ASC, marked.process_id ASC, marked.step_index ASC;
