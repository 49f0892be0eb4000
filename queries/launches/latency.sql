-- launches.latency: how long work of the GPU waits after its launch, by API call.
--
-- The latency of a launch runs from the end of its API call to the start of the work;
-- it is negative where the work began while the call was still running. Work whose call
-- was not recorded is left out. With CUDA graphs many kernels share a call, and each
-- counts. launches.summary has the same for each kernel.
--
-- reads:
--   launch  rows
-- needs:
--   gpu_activity
--   api_call.correlation_id
-- columns:
--   process_id      INTEGER  The process, as in the process table.
--   device_id       INTEGER  The device, as in the device table.
--   activity        VARCHAR  kernel, memcpy, memset or graph_launch.
--   api_name        VARCHAR  The API function that launched it.
--   launches        BIGINT   Launches that were counted.
--   queued          BIGINT   Those whose work began after the call had returned.
--   latency_min_ns  BIGINT   Shortest latency.
--   latency_p05_ns  BIGINT   5 % of the launches have no more.
--   latency_p50_ns  BIGINT   Half of the launches have no more.
--   latency_p95_ns  BIGINT   95 % of the launches have no more.
--   latency_max_ns  BIGINT   Longest latency.
--   latency_mean_ns  DOUBLE   Mean latency.
--   call_p50_ns     BIGINT   Half of the calls take no longer.
--   call_p95_ns     BIGINT   95 % of the calls take no longer.
--   call_max_ns     BIGINT   Longest call.

SELECT
    process_id,
    device_id,
    activity,
    call_name AS api_name,
    count(*) AS launches,
    count(*) FILTER (WHERE start_ns > call_end_ns) AS queued,
    min(start_ns - call_end_ns) AS latency_min_ns,
    quantile_disc(start_ns - call_end_ns, 0.05) AS latency_p05_ns,
    quantile_disc(start_ns - call_end_ns, 0.5) AS latency_p50_ns,
    quantile_disc(start_ns - call_end_ns, 0.95) AS latency_p95_ns,
    max(start_ns - call_end_ns) AS latency_max_ns,
    avg(start_ns - call_end_ns) AS latency_mean_ns,
    quantile_disc(call_end_ns - call_start_ns, 0.5) AS call_p50_ns,
    quantile_disc(call_end_ns - call_start_ns, 0.95) AS call_p95_ns,
    max(call_end_ns - call_start_ns) AS call_max_ns
FROM launch
WHERE call_start_ns IS NOT NULL
GROUP BY process_id, device_id, activity, call_name
ORDER BY launches DESC, process_id ASC, device_id ASC, activity ASC, api_name ASC;
