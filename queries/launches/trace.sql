-- launches.trace: each kernel with its API call: call, queue and kernel time.
--
-- The total time runs from the start of the API call to the end of the call or of the
-- kernel, whichever is later. The queue time runs from the end of the call to the start
-- of the kernel; it is NULL where the kernel began before its call had returned.
-- Kernels whose call was not recorded are left out (quality.capture counts them). With
-- CUDA graphs many kernels share a call. Equals `nsys stats` cuda_kern_exec_trace with
-- limit = 0.
--
-- reads:
--   launch  rows
-- needs:
--   kernel
--   api_call
-- parameters:
--   limit  BIGINT = 20   Rows to return, 0 for all.
-- columns:
--   api_start_ns     BIGINT   When the call began.
--   api_ns           BIGINT   Duration of the call.
--   queue_start_ns   BIGINT   When the call had returned, if the kernel was queued.
--   queue_ns         BIGINT   Time from there to the start of the kernel.
--   kernel_start_ns  BIGINT   When the kernel began.
--   kernel_ns        BIGINT   Duration of the kernel.
--   total_ns         BIGINT   From the start of the call to the end of both.
--   process_id       INTEGER  The process, as in the process table.
--   thread_id        INTEGER  Thread that made the call, as in the thread table.
--   device_id        INTEGER  The device, as in the device table.
--   stream_id        BIGINT   CUDA stream, as numbered in its context.
--   correlation_id   BIGINT   Id that call and kernel share.
--   kernel_id        BIGINT   The kernel, as in the kernel table.
--   api_name         VARCHAR  The API function.
--   grid_x           INTEGER  Thread blocks in x.
--   grid_y           INTEGER  Thread blocks in y.
--   grid_z           INTEGER  Thread blocks in z.
--   block_x          INTEGER  Threads of a block in x.
--   block_y          INTEGER  Threads of a block in y.
--   block_z          INTEGER  Threads of a block in z.
--   kernel_name      VARCHAR  The kernel, as the profiler wrote it.

SELECT
    call_start_ns AS api_start_ns,
    call_end_ns - call_start_ns AS api_ns,
    CASE WHEN start_ns > call_end_ns THEN call_end_ns END AS queue_start_ns,
    CASE WHEN start_ns > call_end_ns THEN start_ns - call_end_ns END AS queue_ns,
    start_ns AS kernel_start_ns,
    end_ns - start_ns AS kernel_ns,
    greatest(call_end_ns, end_ns) - call_start_ns AS total_ns,
    process_id,
    thread_id,
    device_id,
    stream_id,
    correlation_id,
    kernel_id,
    call_name AS api_name,
    grid_x,
    grid_y,
    grid_z,
    block_x,
    block_y,
    block_z,
    name AS kernel_name
FROM launch
WHERE activity = 'kernel' AND call_start_ns IS NOT NULL
ORDER BY api_start_ns ASC, kernel_start_ns ASC, kernel_id ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
