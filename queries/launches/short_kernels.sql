-- launches.short_kernels: kernels that run for less time than their launch takes.
--
-- A kernel that is shorter than the API call that launched it cannot keep the GPU busy
-- from one thread: it is launch-bound. Fusion, larger batches or CUDA graphs help. A
-- call that launches several kernels is shared out evenly among them. Kernels whose
-- call was not recorded are not judged.
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
--   device_id      INTEGER  The device, as in the device table.
--   kernel_name    VARCHAR  The kernel.
--   launches       BIGINT   Its launches.
--   short          BIGINT   Those that ran for less time than their call took.
--   short_share    DOUBLE   short over launches, 0 to 1.
--   short_ns       BIGINT   Summed duration of the short ones.
--   call_ns        DOUBLE   Summed duration of their calls.
--   excess_ns      DOUBLE   call_ns less short_ns: what launching costs beyond running.
--   median_ns      DOUBLE   Median duration of the short ones.

WITH
    timed AS (
        SELECT
            device_id,
            CASE $names
                WHEN 'canonical' THEN canonical_name
                WHEN 'short' THEN short_name
                ELSE name
            END AS kernel_name,
            end_ns - start_ns AS kernel_ns,
            CASE
                WHEN graph_node_id IS NULL THEN call_end_ns - call_start_ns
                ELSE
                    (call_end_ns - call_start_ns)
                    / count(*) OVER (PARTITION BY process_id, correlation_id)
            END AS call_ns
        FROM launch
        WHERE activity = 'kernel' AND call_start_ns IS NOT NULL
    )

SELECT
    device_id,
    kernel_name,
    count(*) AS launches,
    count(*) FILTER (WHERE kernel_ns < call_ns) AS short,
    count(*) FILTER (WHERE kernel_ns < call_ns) / count(*) AS short_share,
    sum(kernel_ns) FILTER (WHERE kernel_ns < call_ns)::BIGINT AS short_ns,
    sum(call_ns) FILTER (WHERE kernel_ns < call_ns)::DOUBLE AS call_ns,
    sum(call_ns - kernel_ns) FILTER (WHERE kernel_ns < call_ns)::DOUBLE AS excess_ns,
    median(kernel_ns) FILTER (WHERE kernel_ns < call_ns)::DOUBLE AS median_ns
FROM timed
GROUP BY device_id, kernel_name
HAVING count(*) FILTER (WHERE kernel_ns < call_ns) > 0
ORDER BY excess_ns DESC, device_id ASC, kernel_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
