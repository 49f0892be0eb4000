-- launch: the work of the GPUs, each with the API call that launched it.
--
-- One row per activity, never more: thread_id and the columns call_... are those of
-- the call with its process and correlation id, and NULL where none was recorded.
-- With CUDA graphs many activities share one api. Where one correlation id has
-- several calls, as a runtime call and the driver call inside of it have, the
-- outermost counts; a row of domain `backtrace` is no api.
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
    launching AS NOT MATERIALIZED (
        SELECT api.*
        FROM api
        INNER JOIN work_block
            ON
                api.process_id = work_block.process_id
                AND id_block(api.correlation_id) = work_block.block
                AND work_block.ids & id_bit(api.correlation_id) <> 0
    ),
    work AS NOT MATERIALIZED (
        SELECT
            activity.*,
            CASE WHEN several.process_id IS NULL THEN activity.correlation_id END
                AS only_id
        FROM recorded.gpu_activity AS activity
        LEFT JOIN several
            ON
                activity.process_id = several.process_id
                AND activity.correlation_id = several.correlation_id
    )

SELECT
    work.activity,
    work.process_id,
    work.device_id,
    work.context_id,
    work.green_context_id,
    work.stream_id,
    work.correlation_id,
    work.graph_id,
    work.graph_node_id,
    work.kernel_id,
    work.start_ns,
    work.end_ns,
    work.bytes,
    work.name,
    work.canonical_name,
    work.short_name,
    work.grid_x,
    work.grid_y,
    work.grid_z,
    work.block_x,
    work.block_y,
    work.block_z,
    coalesce(launching.thread_id, outermost.thread_id) AS thread_id,
    coalesce(launching.domain, outermost.domain) AS call_domain,
    coalesce(launching.name, outermost.name) AS call_name,
    coalesce(launching.start_ns, outermost.start_ns) AS call_start_ns,
    coalesce(launching.end_ns, outermost.end_ns) AS call_end_ns
FROM work
LEFT JOIN launching
    ON
        work.process_id = launching.process_id
        AND work.only_id = launching.correlation_id
LEFT JOIN outermost
    ON
        work.process_id = outermost.process_id
        AND work.correlation_id = outermost.correlation_id
        AND outermost.place = 1;
