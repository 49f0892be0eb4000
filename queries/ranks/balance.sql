-- ranks.balance: how evenly the work lies on the ranks.
--
-- Each instant of the window goes to the first that holds on the rank's GPU: a kernel
-- that does not communicate runs; one that communicates, which nothing hides; a CUDA
-- graph that was traced as a whole; a copy or a fill; nothing. The parts add up to the
-- window. What a rank computes more than the others the others spend in communication,
-- waiting for it: the ratio to the mean tells who has more work, and ranks.stragglers
-- who comes late. By default the window is that of all ranks together, so that ranks
-- compare.
--
-- scope: run
-- reads:
--   kernel        clip
--   memcpy        clip
--   memset        clip
--   graph_launch  clip
--   time_window   lookup
-- columns:
--   rank                      INTEGER  The rank.
--   device_id                 INTEGER  The device, as in the device table.
--   window_ns                 BIGINT   Length of the window, which the parts add up to.
--   compute_ns                BIGINT   A kernel ran that does not communicate.
--   exposed_communication_ns  BIGINT   Of the rest, a kernel ran that communicates.
--   graph_ns                  BIGINT   Of the rest, a CUDA graph ran.
--   copy_ns                   BIGINT   Of the rest, a copy or a fill ran.
--   idle_ns                   BIGINT   Nothing ran.
--   communication_ns          BIGINT   A kernel ran that communicates, hidden or not.
--   kernels                   BIGINT   Kernels that were counted.
--   compute_ratio             DOUBLE   compute_ns over its mean on all rows; 1 is even.

WITH
    named AS (
        SELECT
            name,
            coalesce(is_communication_kernel(name), FALSE) AS communicates
        FROM kernel
        GROUP BY name
    ),
    work AS (
        SELECT
            kernel.rank,
            kernel.device_id,
            CASE WHEN named.communicates THEN 1 ELSE 0 END AS layer,
            kernel.start_ns,
            kernel.end_ns
        FROM kernel
        LEFT JOIN named ON kernel.name = named.name
        UNION ALL
        SELECT
            rank,
            device_id,
            2 AS layer,
            start_ns,
            end_ns
        FROM graph_launch
        UNION ALL
        SELECT
            rank,
            device_id,
            3 AS layer,
            start_ns,
            end_ns
        FROM memcpy
        UNION ALL
        SELECT
            rank,
            device_id,
            3 AS layer,
            start_ns,
            end_ns
        FROM memset
    ),
    -- Along the starts a running maximum of the ends tells how far each union reaches.
    reached AS (
        SELECT
            rank,
            device_id,
            layer,
            start_ns,
            end_ns,
            max(end_ns) FILTER (WHERE layer = 0) OVER earlier AS to_0,
            max(end_ns) FILTER (WHERE layer = 1) OVER earlier AS to_only_1,
            max(end_ns) FILTER (WHERE layer <= 1) OVER earlier AS to_1,
            max(end_ns) FILTER (WHERE layer <= 2) OVER earlier AS to_2,
            max(end_ns) OVER earlier AS to_3
        FROM work
        WINDOW
            earlier AS (
                PARTITION BY rank, device_id
                ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )
    ),
    united AS (
        SELECT
            rank,
            device_id,
            count(*) FILTER (WHERE layer <= 1) AS kernels,
            sum(added(start_ns, end_ns, to_0)) FILTER (WHERE layer = 0) AS united_0,
            sum(added(start_ns, end_ns, to_only_1)) FILTER (WHERE layer = 1)
                AS only_1,
            sum(added(start_ns, end_ns, to_1)) FILTER (WHERE layer <= 1) AS united_1,
            sum(added(start_ns, end_ns, to_2)) FILTER (WHERE layer <= 2) AS united_2,
            sum(added(start_ns, end_ns, to_3)) AS united_3
        FROM reached
        GROUP BY rank, device_id
    ),
    span AS (
        SELECT
            device_id,
            sum(end_ns - start_ns)::BIGINT AS window_ns
        FROM time_window
        GROUP BY device_id
    ),
    part AS (
        SELECT
            united.rank,
            united.device_id,
            united.kernels,
            span.window_ns,
            coalesce(united.united_0, 0)::BIGINT AS to_compute_ns,
            coalesce(united.united_1, 0)::BIGINT AS to_communication_ns,
            coalesce(united.united_2, united.united_1, 0)::BIGINT AS to_graph_ns,
            united.united_3::BIGINT AS busy_ns,
            coalesce(united.only_1, 0)::BIGINT AS communication_ns
        FROM united
        INNER JOIN span ON united.device_id = span.device_id
    )

SELECT
    rank,
    device_id,
    window_ns,
    to_compute_ns AS compute_ns,
    to_communication_ns - to_compute_ns AS exposed_communication_ns,
    to_graph_ns - to_communication_ns AS graph_ns,
    busy_ns - to_graph_ns AS copy_ns,
    window_ns - busy_ns AS idle_ns,
    communication_ns,
    kernels,
    to_compute_ns / nullif(avg(to_compute_ns) OVER (), 0) AS compute_ratio
FROM part
ORDER BY rank ASC, device_id ASC;
