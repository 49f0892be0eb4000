-- launch_call: the API calls that launched work of the GPUs.
--
-- One row per process and correlation id that work of a GPU has, never more. Where one
-- id has several calls, as a runtime call and the driver call inside of it have, the
-- outermost counts; a row of domain `backtrace` is no call.
--
-- reads:
--   gpu_activity  lookup
--   api_call      lookup

WITH
    api AS NOT MATERIALIZED (
        SELECT
            process_id,
            correlation_id,
            thread_id,
            domain,
            name,
            start_ns,
            end_ns
        FROM recorded.api_call
        WHERE domain IS DISTINCT FROM 'backtrace'
    ),
    -- Calls that share an id are rare: look for them where a block of ids has fewer
    -- ids than calls.
    suspect AS (
        SELECT
            process_id,
            id_block(correlation_id) AS block
        FROM api
        GROUP BY process_id, id_block(correlation_id)
        HAVING bit_count(bit_or(id_bit(correlation_id))) < count(*)
    ),
    several AS (
        SELECT
            api.process_id,
            api.correlation_id
        FROM api
        SEMI JOIN suspect
            ON
                api.process_id = suspect.process_id
                AND id_block(api.correlation_id) = suspect.block
        GROUP BY api.process_id, api.correlation_id
        HAVING count(*) > 1
    ),
    -- Most calls launch nothing. Without them the hash table of the join is small.
    work_block AS (
        SELECT
            process_id,
            id_block(correlation_id) AS block,
            bit_or(id_bit(correlation_id)) AS ids
        FROM recorded.gpu_activity
        GROUP BY process_id, id_block(correlation_id)
    ),
    several_block AS (
        SELECT
            process_id,
            id_block(correlation_id) AS block,
            bit_or(id_bit(correlation_id)) AS ids
        FROM several
        GROUP BY process_id, id_block(correlation_id)
    ),
    single_block AS (
        SELECT
            work_block.process_id,
            work_block.block,
            work_block.ids & ~coalesce(several_block.ids, 0) AS ids
        FROM work_block
        LEFT JOIN several_block
            ON
                work_block.process_id = several_block.process_id
                AND work_block.block = several_block.block
    ),
    outermost AS (
        SELECT
            api.*,
            row_number() OVER (
                PARTITION BY api.process_id, api.correlation_id
                ORDER BY
                    api.start_ns ASC, api.end_ns DESC, api.domain DESC,
                    api.thread_id ASC, api.name ASC
            ) AS place
        FROM api
        SEMI JOIN several
            ON
                api.process_id = several.process_id
                AND api.correlation_id = several.correlation_id
    )

SELECT
    api.process_id,
    api.correlation_id,
    api.thread_id,
    api.domain,
    api.name,
    api.start_ns,
    api.end_ns
FROM api
INNER JOIN single_block
    ON
        api.process_id = single_block.process_id
        AND id_block(api.correlation_id) = single_block.block
        AND single_block.ids & id_bit(api.correlation_id) <> 0
UNION ALL
SELECT
    outermost.process_id,
    outermost.correlation_id,
    outermost.thread_id,
    outermost.domain,
    outermost.name,
    outermost.start_ns,
    outermost.end_ns
FROM outermost
INNER JOIN work_block
    ON
        outermost.process_id = work_block.process_id
        AND id_block(outermost.correlation_id) = work_block.block
        AND work_block.ids & id_bit(outermost.correlation_id) <> 0
WHERE outermost.place = 1;
