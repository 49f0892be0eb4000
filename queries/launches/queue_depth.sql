-- launches.queue_depth: how much launched work waits for each GPU.
--
-- An operation is in the queue from the end of its API call to its start: a deep queue
-- keeps the GPU fed, an empty one lets it wait for the host. The depth counts the
-- operations in the queue and is weighted by time, from the first to the last instant
-- that is known. Operations that began before their call returned were never in the
-- queue. Work whose call was not recorded is left out.
--
-- reads:
--   launch  rows
-- needs:
--   gpu_activity
--   api_call
-- columns:
--   device_id    INTEGER  The device, as in the device table.
--   operations   BIGINT   Operations with a call.
--   queued       BIGINT   Those that were in the queue.
--   span_ns      BIGINT   From the first call's end or start of work to the last start.
--   empty_ns     BIGINT   Time in which nothing was in the queue.
--   empty_share  DOUBLE   empty_ns over span_ns, 0 to 1.
--   mean_depth   DOUBLE   Mean operations in the queue, over time.
--   max_depth    BIGINT   Most operations in the queue at once.
--   mean_wait_ns  DOUBLE   Mean time in the queue of the queued operations.

WITH
    timed AS (
        SELECT
            device_id,
            least(call_end_ns, start_ns) AS from_ns,
            start_ns AS to_ns
        FROM launch
        WHERE call_start_ns IS NOT NULL
    ),
    per_device AS (
        SELECT
            device_id,
            count(*) AS operations,
            count(*) FILTER (WHERE to_ns > from_ns) AS queued,
            (max(to_ns) - min(from_ns))::BIGINT AS span_ns,
            sum(to_ns - from_ns)::BIGINT AS waited_ns
        FROM timed
        GROUP BY device_id
    ),
    event AS (
        SELECT
            device_id,
            unnest([from_ns, to_ns]) AS time_ns,
            unnest([1, -1]) AS change
        FROM timed
        WHERE to_ns > from_ns
    ),
    -- What leaves at an instant leaves before what comes.
    deep AS (
        SELECT
            device_id,
            sum(change) OVER (
                PARTITION BY device_id
                ORDER BY time_ns, change
                ROWS UNBOUNDED PRECEDING
            ) AS depth
        FROM event
    ),
    deepest AS (
        SELECT
            device_id,
            max(depth)::BIGINT AS max_depth
        FROM deep
        GROUP BY device_id
    ),
    waiting AS (
        SELECT
            device_id AS key,
            from_ns AS start_ns,
            to_ns AS end_ns
        FROM timed
    )

SELECT
    per_device.device_id,
    per_device.operations,
    per_device.queued,
    per_device.span_ns,
    per_device.span_ns - waited.covered_ns AS empty_ns,
    (per_device.span_ns - waited.covered_ns) / nullif(per_device.span_ns, 0)
        AS empty_share,
    per_device.waited_ns / nullif(per_device.span_ns, 0) AS mean_depth,
    coalesce(deepest.max_depth, 0) AS max_depth,
    per_device.waited_ns / nullif(per_device.queued, 0) AS mean_wait_ns
FROM per_device
INNER JOIN covered('waiting') AS waited ON per_device.device_id = waited.key
LEFT JOIN deepest ON per_device.device_id = deepest.device_id
ORDER BY per_device.device_id ASC;
