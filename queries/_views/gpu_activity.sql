-- gpu_activity: everything that kept a GPU busy.
--
-- Kernels, copies, fills and CUDA graphs that were traced as a whole. What a kind of
-- activity does not have is NULL. A fill has no source: the memory that it fills is
-- its destination.
--
-- reads:
--   kernel        lookup
--   memcpy        lookup
--   memset        lookup
--   graph_launch  lookup

SELECT
    'kernel' AS activity,
    process_id,
    device_id,
    context_id,
    green_context_id,
    stream_id,
    correlation_id,
    graph_id,
    graph_node_id,
    kernel_id,
    start_ns,
    end_ns,
    NULL::BIGINT AS bytes,
    name,
    canonical_name,
    short_name,
    grid_x,
    grid_y,
    grid_z,
    block_x,
    block_y,
    block_z,
    registers_per_thread,
    static_shared_bytes,
    dynamic_shared_bytes,
    NULL::VARCHAR AS source_memory_kind,
    NULL::VARCHAR AS destination_memory_kind
FROM recorded.kernel
UNION ALL
SELECT
    'memcpy' AS activity,
    process_id,
    device_id,
    context_id,
    green_context_id,
    stream_id,
    correlation_id,
    graph_id,
    graph_node_id,
    NULL::BIGINT AS kernel_id,
    start_ns,
    end_ns,
    bytes,
    copy_kind AS name,
    NULL::VARCHAR AS canonical_name,
    NULL::VARCHAR AS short_name,
    NULL::INTEGER AS grid_x,
    NULL::INTEGER AS grid_y,
    NULL::INTEGER AS grid_z,
    NULL::INTEGER AS block_x,
    NULL::INTEGER AS block_y,
    NULL::INTEGER AS block_z,
    NULL::INTEGER AS registers_per_thread,
    NULL::BIGINT AS static_shared_bytes,
    NULL::BIGINT AS dynamic_shared_bytes,
    source_memory_kind,
    destination_memory_kind
FROM recorded.memcpy
UNION ALL
SELECT
    'memset' AS activity,
    process_id,
    device_id,
    context_id,
    green_context_id,
    stream_id,
    correlation_id,
    graph_id,
    graph_node_id,
    NULL::BIGINT AS kernel_id,
    start_ns,
    end_ns,
    bytes,
    memory_kind AS name,
    NULL::VARCHAR AS canonical_name,
    NULL::VARCHAR AS short_name,
    NULL::INTEGER AS grid_x,
    NULL::INTEGER AS grid_y,
    NULL::INTEGER AS grid_z,
    NULL::INTEGER AS block_x,
    NULL::INTEGER AS block_y,
    NULL::INTEGER AS block_z,
    NULL::INTEGER AS registers_per_thread,
    NULL::BIGINT AS static_shared_bytes,
    NULL::BIGINT AS dynamic_shared_bytes,
    NULL::VARCHAR AS source_memory_kind,
    memory_kind AS destination_memory_kind
FROM recorded.memset
UNION ALL
SELECT
    'graph_launch' AS activity,
    process_id,
    device_id,
    context_id,
    green_context_id,
    stream_id,
    correlation_id,
    graph_id,
    NULL::BIGINT AS graph_node_id,
    NULL::BIGINT AS kernel_id,
    start_ns,
    end_ns,
    NULL::BIGINT AS bytes,
    'graph ' || graph_id AS name,
    NULL::VARCHAR AS canonical_name,
    NULL::VARCHAR AS short_name,
    NULL::INTEGER AS grid_x,
    NULL::INTEGER AS grid_y,
    NULL::INTEGER AS grid_z,
    NULL::INTEGER AS block_x,
    NULL::INTEGER AS block_y,
    NULL::INTEGER AS block_z,
    NULL::INTEGER AS registers_per_thread,
    NULL::BIGINT AS static_shared_bytes,
    NULL::BIGINT AS dynamic_shared_bytes,
    NULL::VARCHAR AS source_memory_kind,
    NULL::VARCHAR AS destination_memory_kind
FROM recorded.graph_launch;
