-- gpu.trace: every kernel, copy, fill and graph on the GPUs, in order of time.
--
-- `nsys stats` leaves out graphs that were traced as a whole, and its throughput is
-- bytes x (10^9 // ns): it counts the whole copies that fit into a second, which is too
-- low for long ones, and 0 for one that takes more than a second. This equals its
-- cuda_gpu_trace with graph_launches = exclude, throughput = nsys and limit = 0; the
-- memory of a fill stands there as the source.
--
-- reads:
--   gpu_activity  rows
-- parameters:
--   limit           BIGINT = 20         Rows to return, 0 for all.
--   graph_launches  VARCHAR = include   One of include or exclude: whether graphs that
--                                       were traced as a whole are shown.
--   throughput      VARCHAR = exact     One of exact or nsys: bytes over duration, or
--                                       as `nsys stats` rounds it.
-- columns:
--   start_ns                 BIGINT   When it began.
--   duration_ns              BIGINT   How long it took.
--   activity                 VARCHAR  kernel, memcpy, memset or graph_launch.
--   process_id               INTEGER  The process, as in the process table.
--   device_id                INTEGER  The device, as in the device table.
--   context_id               BIGINT   CUDA context, as numbered in its process.
--   green_context_id         BIGINT   Green context, where one was in use.
--   stream_id                BIGINT   CUDA stream, as numbered in its context.
--   correlation_id           BIGINT   Id of the API call that caused it.
--   graph_id                 BIGINT   CUDA graph it was launched by.
--   graph_node_id            BIGINT   Node of that graph.
--   grid_x                   INTEGER  Thread blocks in x.
--   grid_y                   INTEGER  Thread blocks in y.
--   grid_z                   INTEGER  Thread blocks in z.
--   block_x                  INTEGER  Threads of a block in x.
--   block_y                  INTEGER  Threads of a block in y.
--   block_z                  INTEGER  Threads of a block in z.
--   registers_per_thread     INTEGER  Registers a thread.
--   static_shared_bytes      BIGINT   Static shared memory a block.
--   dynamic_shared_bytes     BIGINT   Dynamic shared memory a block.
--   bytes                    BIGINT   Bytes copied or filled.
--   bytes_per_second         DOUBLE   Those over the duration, NULL where that is 0.
--   source_memory_kind       VARCHAR  Kind of the memory copied from.
--   destination_memory_kind  VARCHAR  Kind of the memory copied to, or filled.
--   operation                VARCHAR  The kernel, the kind of copy, the fill or the
--                                     graph.

SELECT
    start_ns,
    end_ns - start_ns AS duration_ns,
    activity,
    process_id,
    device_id,
    context_id,
    green_context_id,
    stream_id,
    correlation_id,
    graph_id,
    graph_node_id,
    grid_x,
    grid_y,
    grid_z,
    block_x,
    block_y,
    block_z,
    registers_per_thread,
    static_shared_bytes,
    dynamic_shared_bytes,
    bytes,
    CASE $throughput
        WHEN 'nsys' THEN bytes::DOUBLE * (1000000000 // nullif(end_ns - start_ns, 0))
        ELSE bytes * 1e9 / nullif(end_ns - start_ns, 0)
    END AS bytes_per_second,
    source_memory_kind,
    destination_memory_kind,
    operation_name(activity, name) AS operation
FROM gpu_activity
WHERE $graph_launches = 'include' OR activity <> 'graph_launch'
ORDER BY
    start_ns ASC, duration_ns ASC, device_id ASC, process_id ASC, context_id ASC,
    stream_id ASC, correlation_id ASC, activity ASC, operation ASC, graph_node_id ASC,
    bytes ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
