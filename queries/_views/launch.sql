-- launch: the work of the GPUs, each with the API call that launched it.
--
-- One row per activity, never more: thread_id and the columns call_... are those of
-- the call with its process and correlation id, and NULL where none was recorded.
-- With CUDA graphs many activities share one call. Where one correlation id has
-- several calls, the outermost counts: see launch_call.
--
-- reads:
--   gpu_activity  lookup
--   launch_call   lookup

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
    launch_call.thread_id,
    launch_call.domain AS call_domain,
    launch_call.name AS call_name,
    launch_call.start_ns AS call_start_ns,
    launch_call.end_ns AS call_end_ns
FROM recorded.gpu_activity AS work
LEFT JOIN recorded.launch_call AS launch_call
    ON
        work.process_id = launch_call.process_id
        AND work.correlation_id = launch_call.correlation_id;
