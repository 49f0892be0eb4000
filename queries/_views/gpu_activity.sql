-- gpu_activity: everything that kept a GPU busy.
--
-- Kernels, copies, fills and CUDA graphs that were traced as a whole.
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
    stream_id,
    correlation_id,
    start_ns,
    end_ns,
    NULL::BIGINT AS bytes,
    name
FROM recorded.kernel
UNION ALL
SELECT
    'memcpy' AS activity,
    process_id,
    device_id,
    context_id,
    stream_id,
    correlation_id,
    start_ns,
    end_ns,
    bytes,
    copy_kind AS name
FROM recorded.memcpy
UNION ALL
SELECT
    'memset' AS activity,
    process_id,
    device_id,
    context_id,
    stream_id,
    correlation_id,
    start_ns,
    end_ns,
    bytes,
    memory_kind AS name
FROM recorded.memset
UNION ALL
SELECT
    'graph_launch' AS activity,
    process_id,
    device_id,
    context_id,
    stream_id,
    correlation_id,
    start_ns,
    end_ns,
    NULL::BIGINT AS bytes,
    'graph ' || graph_id AS name
FROM recorded.graph_launch;
