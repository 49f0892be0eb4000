-- correlation: how far calls that launch and work of the GPU find each other.
--
-- One row of counts, by process and correlation id. A row of domain `backtrace` is no
-- call, and a call that returned an error has launched nothing.
--
-- reads:
--   gpu_activity  lookup
--   api_call      lookup

WITH
    call AS NOT MATERIALIZED (
        SELECT
            process_id,
            correlation_id,
            is_launch_call(name) AND coalesce(return_value, 0) = 0 AS is_launch
        FROM recorded.api_call
        WHERE domain IS DISTINCT FROM 'backtrace'
    ),
    activity_block AS (
        SELECT
            process_id,
            id_block(correlation_id) AS block,
            bit_or(id_bit(correlation_id)) AS ids,
            bit_or(id_bit(correlation_id)) FILTER (WHERE activity = 'kernel')
                AS kernel_ids,
            count(*) FILTER (WHERE activity = 'kernel') AS kernels
        FROM recorded.gpu_activity
        WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL
        GROUP BY process_id, id_block(correlation_id)
    ),
    call_block AS (
        SELECT
            process_id,
            id_block(correlation_id) AS block,
            bit_or(id_bit(correlation_id)) AS ids,
            bit_or(id_bit(correlation_id)) FILTER (WHERE is_launch) AS launch_ids
        FROM call
        WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL
        GROUP BY process_id, id_block(correlation_id)
    ),
    unlaunched_block AS (
        SELECT
            activity_block.process_id,
            activity_block.block,
            activity_block.kernel_ids & ~coalesce(call_block.ids, 0) AS ids
        FROM activity_block
        LEFT JOIN call_block
            ON
                activity_block.process_id = call_block.process_id
                AND activity_block.block = call_block.block
        WHERE activity_block.kernel_ids & ~coalesce(call_block.ids, 0) <> 0
    ),
    kernel_without_launch AS (
        SELECT count(*) AS kernels
        FROM recorded.gpu_activity AS work
        LEFT JOIN unlaunched_block
            ON
                work.process_id = unlaunched_block.process_id
                AND id_block(work.correlation_id) = unlaunched_block.block
        WHERE
            work.activity = 'kernel'
            AND (
                work.process_id IS NULL
                OR work.correlation_id IS NULL
                OR unlaunched_block.ids & id_bit(work.correlation_id) <> 0
            )
    ),
    idle_block AS (
        SELECT
            call_block.process_id,
            call_block.block,
            call_block.launch_ids & ~coalesce(activity_block.ids, 0) AS ids
        FROM call_block
        LEFT JOIN activity_block
            ON
                call_block.process_id = activity_block.process_id
                AND call_block.block = activity_block.block
        WHERE call_block.launch_ids & ~coalesce(activity_block.ids, 0) <> 0
    ),
    launch_without_work AS (
        SELECT count(*) AS launches
        FROM call
        LEFT JOIN idle_block
            ON
                call.process_id = idle_block.process_id
                AND id_block(call.correlation_id) = idle_block.block
        WHERE
            call.is_launch
            AND (
                call.process_id IS NULL
                OR call.correlation_id IS NULL
                OR idle_block.ids & id_bit(call.correlation_id) <> 0
            )
    ),
    -- The ids that a process of a lower number has used, too.
    met_again AS (
        SELECT
            block,
            ids & bit_or(ids) OVER (
                PARTITION BY block
                ORDER BY process_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS ids
        FROM activity_block
    ),
    block_of_processes AS (
        SELECT bit_count(bit_or(ids))::BIGINT AS ids
        FROM met_again
        GROUP BY block
    ),
    ids_of_processes AS (
        SELECT coalesce(sum(ids), 0)::BIGINT AS ids
        FROM block_of_processes
    ),
    id_of_kernels AS (
        SELECT
            work.process_id,
            work.correlation_id,
            count(*) AS kernels
        FROM recorded.gpu_activity AS work
        SEMI JOIN activity_block
            ON
                work.process_id = activity_block.process_id
                AND id_block(work.correlation_id) = activity_block.block
                AND activity_block.kernels > bit_count(activity_block.kernel_ids)
        WHERE work.activity = 'kernel'
        GROUP BY work.process_id, work.correlation_id
        HAVING count(*) > 1
    ),
    ids_of_kernels AS (
        SELECT
            count(*) AS ids,
            coalesce(sum(kernels), 0)::BIGINT AS kernels
        FROM id_of_kernels
    )

SELECT
    kernel_without_launch.kernels AS kernels_without_launch,
    launch_without_work.launches AS launches_without_work,
    ids_of_processes.ids AS ids_of_several_processes,
    ids_of_kernels.ids AS ids_of_several_kernels,
    ids_of_kernels.kernels AS kernels_that_share_ids
FROM kernel_without_launch, launch_without_work, ids_of_processes, ids_of_kernels;
