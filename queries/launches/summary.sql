-- launches.summary: from API call to kernel: how long launches take, and what part.
--
-- The total time of a launch runs from the start of its API call to the end of the
-- call or of the kernel, whichever is later. A kernel is queued where it begins after
-- its call has returned; the time between is its queue time, and a launch that was not
-- queued has none. Kernels whose call was not recorded are left out (quality.capture
-- counts them). With CUDA graphs many kernels share a call, and each counts the call's
-- time in full. Rows come in order of their summed total time. Equals `nsys stats`
-- cuda_kern_exec_sum with limit = 0; where nothing was queued its deviation of the
-- queue time is 0, and NULL here.
--
-- reads:
--   launch  rows
-- needs:
--   kernel
--   api_call
-- parameters:
--   limit  BIGINT = 20           Rows to return, 0 for all.
--   names  VARCHAR = recorded    One of recorded, canonical or short: how kernels
--                                are told apart.
-- columns:
--   process_id        INTEGER  The process, as in the process table.
--   thread_id         INTEGER  Thread that made the call, as in the thread table.
--   device_id         INTEGER  The device, as in the device table.
--   api_name          VARCHAR  The API function.
--   kernel_name       VARCHAR  The kernel.
--   launches          BIGINT   Kernels that were counted.
--   queued            BIGINT   Those that began after their call had returned.
--   total_mean_ns     DOUBLE   Mean total time.
--   total_median_ns   DOUBLE   Median total time.
--   total_min_ns      BIGINT   Shortest total time.
--   total_max_ns      BIGINT   Longest total time.
--   total_stddev_ns   DOUBLE   Its sample standard deviation (n - 1), 0 for one.
--   api_mean_ns       DOUBLE   Mean duration of the call.
--   api_median_ns     DOUBLE   Median duration of the call.
--   api_min_ns        BIGINT   Shortest call.
--   api_max_ns        BIGINT   Longest call.
--   api_stddev_ns     DOUBLE   Its sample standard deviation (n - 1), 0 for one.
--   queue_mean_ns     DOUBLE   Mean queue time.
--   queue_median_ns   DOUBLE   Median queue time.
--   queue_min_ns      BIGINT   Shortest queue time.
--   queue_max_ns      BIGINT   Longest queue time.
--   queue_stddev_ns   DOUBLE   Its sample standard deviation (n - 1), 0 for one.
--   kernel_mean_ns    DOUBLE   Mean duration of the kernel.
--   kernel_median_ns  DOUBLE   Median duration of the kernel.
--   kernel_min_ns     BIGINT   Shortest kernel.
--   kernel_max_ns     BIGINT   Longest kernel.
--   kernel_stddev_ns  DOUBLE   Its sample standard deviation (n - 1), 0 for one.

WITH
    timed AS (
        SELECT
            process_id,
            thread_id,
            device_id,
            call_name AS api_name,
            CASE $names
                WHEN 'canonical' THEN canonical_name
                WHEN 'short' THEN short_name
                ELSE name
            END AS kernel_name,
            greatest(call_end_ns, end_ns) - call_start_ns AS total_ns,
            call_end_ns - call_start_ns AS api_ns,
            CASE WHEN start_ns > call_end_ns THEN start_ns - call_end_ns END
                AS queue_ns,
            end_ns - start_ns AS kernel_ns
        FROM launch
        WHERE activity = 'kernel' AND call_start_ns IS NOT NULL
    )

SELECT
    process_id,
    thread_id,
    device_id,
    api_name,
    kernel_name,
    count(*) AS launches,
    count(queue_ns) AS queued,
    avg(total_ns) AS total_mean_ns,
    median(total_ns) AS total_median_ns,
    min(total_ns) AS total_min_ns,
    max(total_ns) AS total_max_ns,
    coalesce(stddev_samp(total_ns), 0) AS total_stddev_ns,
    avg(api_ns) AS api_mean_ns,
    median(api_ns) AS api_median_ns,
    min(api_ns) AS api_min_ns,
    max(api_ns) AS api_max_ns,
    coalesce(stddev_samp(api_ns), 0) AS api_stddev_ns,
    avg(queue_ns) AS queue_mean_ns,
    median(queue_ns) AS queue_median_ns,
    min(queue_ns) AS queue_min_ns,
    max(queue_ns) AS queue_max_ns,
    CASE WHEN count(queue_ns) > 0 THEN coalesce(stddev_samp(queue_ns), 0) END
        AS queue_stddev_ns,
    avg(kernel_ns) AS kernel_mean_ns,
    median(kernel_ns) AS kernel_median_ns,
    min(kernel_ns) AS kernel_min_ns,
    max(kernel_ns) AS kernel_max_ns,
    coalesce(stddev_samp(kernel_ns), 0) AS kernel_stddev_ns
FROM timed
GROUP BY process_id, thread_id, device_id, api_name, kernel_name
ORDER BY
    sum(total_ns) DESC, process_id ASC, thread_id ASC, device_id ASC, api_name ASC,
    kernel_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
