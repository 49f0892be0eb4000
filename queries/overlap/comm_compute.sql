-- overlap.comm_compute: how much of the communication hides behind other kernels.
--
-- Communication is the length of the union of the kernels that exchange data between
-- GPUs: NCCL's and RCCL's. What no other kernel hides is exposed: overlapped and
-- exposed add up to the total. A CUDA graph that was traced as a whole counts as
-- neither, so with graphs these are lower bounds.
--
-- reads:
--   gpu_activity  clip
-- needs:
--   kernel
-- columns:
--   device_id              INTEGER  The device, as in the device table.
--   kernels                BIGINT   Communication kernels that were counted.
--   communication_ns       BIGINT   Time in which one of them ran.
--   overlapped_ns          BIGINT   Of it, time in which another kernel ran, too.
--   exposed_ns             BIGINT   The rest.
--   compute_ns             BIGINT   Time in which a kernel ran that is none of them.
--   overlapped_share       DOUBLE   overlapped_ns over communication_ns, 0 to 1; NULL
--                                   without communication.
--   kernel_is_lower_bound  BOOLEAN  Whether graphs hide kernels.

WITH
    kernel_name AS (
        SELECT DISTINCT name
        FROM gpu_activity
        WHERE activity = 'kernel'
    ),
    kernel_kind AS (
        SELECT
            name,
            is_communication_kernel(name) AS communicates
        FROM kernel_name
    ),
    work AS (
        SELECT
            activity.device_id AS key,
            CASE WHEN kernel_kind.communicates THEN 1 ELSE 0 END AS layer,
            activity.start_ns,
            activity.end_ns
        FROM gpu_activity AS activity
        LEFT JOIN kernel_kind ON activity.name IS NOT DISTINCT FROM kernel_kind.name
        WHERE activity.activity = 'kernel'
    ),
    edge AS (
        SELECT
            key,
            min(start_ns) AS time_ns
        FROM work
        GROUP BY key
        UNION ALL
        SELECT
            key,
            max(end_ns) AS time_ns
        FROM work
        GROUP BY key
    ),
    communication AS (
        SELECT
            key,
            start_ns,
            end_ns
        FROM work
        WHERE layer = 1
    ),
    total AS (
        SELECT
            key,
            covered_ns
        FROM covered('communication')
    ),
    counted AS (
        SELECT
            device_id,
            bool_or(activity = 'graph_launch') AS by_graphs
        FROM gpu_activity
        GROUP BY device_id
    ),
    communicating AS (
        SELECT
            key,
            count(*) AS kernels
        FROM communication
        GROUP BY key
    )

SELECT
    counted.device_id,
    coalesce(communicating.kernels, 0) AS kernels,
    coalesce(total.covered_ns, 0) AS communication_ns,
    coalesce(total.covered_ns - part.layer_1_ns, 0) AS overlapped_ns,
    coalesce(part.layer_1_ns, 0) AS exposed_ns,
    coalesce(part.layer_0_ns, 0) AS compute_ns,
    (total.covered_ns - part.layer_1_ns) / nullif(total.covered_ns, 0)
        AS overlapped_share,
    counted.by_graphs AS kernel_is_lower_bound
FROM counted
LEFT JOIN cover('work', 'edge') AS part ON counted.device_id = part.key
LEFT JOIN total ON counted.device_id = total.key
LEFT JOIN communicating ON counted.device_id = communicating.key
ORDER BY counted.device_id ASC;
