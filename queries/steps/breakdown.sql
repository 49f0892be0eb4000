-- steps.breakdown: what each training step's time went to; the parts add up.
--
-- Each instant of a step goes to the first that holds, of what the step's process did
-- on this device or on any of its threads: a kernel runs; one that communicates; a
-- graph that was traced as a whole, whose kernels are not known; a copy; a fill; an API
-- call; data is loaded; the CPU works otherwise; nothing of all that, which is idle.
-- Communication here is what no other kernel hides: overlap.comm_compute has all of
-- it. Data loading is known by the names of ranges and operators, other work of the CPU
-- by operators, traced calls of libraries and scheduling: without these, idle includes
-- a program that computes on the CPU. A process that used several GPUs has a row for
-- each, one that used none has one without a device. Steps count whole: those that
-- begin in the window.
--
-- reads:
--   stable_step   rows
--   user_process  rows
--   gpu_activity  lookup
--   api_call      lookup
--   annotation    lookup
--   operator      lookup
--   library_call  lookup
--   cpu_slice     lookup
-- needs:
--   step
-- columns:
--   step_index        BIGINT   Number of the step.
--   process_id        INTEGER  The process, as in the process table.
--   device_id         INTEGER  The device, as in the device table.
--   duration_ns       BIGINT   Length of the step, which the parts add up to.
--   kernel_ns         BIGINT   A kernel that does not communicate ran.
--   communication_ns  BIGINT   Of the rest, a kernel that communicates ran.
--   graph_ns          BIGINT   Of the rest, a CUDA graph ran.
--   copy_ns           BIGINT   Of the rest, a copy ran.
--   fill_ns           BIGINT   Of the rest, a fill ran.
--   api_ns            BIGINT   Of the rest, an API call ran or waited.
--   data_loading_ns   BIGINT   Of the rest, data was loaded.
--   other_cpu_ns      BIGINT   Of the rest, the CPU did something else that was
--                              recorded.
--   idle_ns           BIGINT   The rest.
--   stable            BOOLEAN  Whether it is one of the stable steps.

WITH
    stepping AS (
        SELECT DISTINCT coalesce(process_id, -1) AS owner
        FROM stable_step
    ),
    pair AS (
        SELECT
            stepping.owner,
            user_process.device_id,
            row_number() OVER (ORDER BY stepping.owner, user_process.device_id) AS key
        FROM stepping
        LEFT JOIN user_process
            ON stepping.owner = coalesce(user_process.process_id, -1)
    ),
    kernel_name AS (
        SELECT DISTINCT name
        FROM gpu_activity
        WHERE activity = 'kernel'
    ),
    kernel_layer AS (
        SELECT
            name,
            CASE WHEN is_communication_kernel(name) THEN 1 ELSE 0 END AS layer
        FROM kernel_name
    ),
    host_work AS (
        SELECT
            process_id,
            start_ns,
            end_ns,
            5 AS layer
        FROM api_call
        UNION ALL
        SELECT
            process_id,
            start_ns,
            end_ns,
            6 AS layer
        FROM annotation
        WHERE kind <> 'mark' AND end_ns IS NOT NULL AND is_data_loading(text)
        UNION ALL
        SELECT
            process_id,
            start_ns,
            end_ns,
            CASE WHEN is_data_loading(name) THEN 6 ELSE 7 END AS layer
        FROM operator
        UNION ALL
        SELECT
            process_id,
            start_ns,
            end_ns,
            7 AS layer
        FROM library_call
        UNION ALL
        SELECT
            process_id,
            start_ns,
            end_ns,
            7 AS layer
        FROM cpu_slice
    ),
    work AS (
        SELECT
            pair.key,
            activity.start_ns,
            activity.end_ns,
            CASE activity.activity
                WHEN 'kernel' THEN coalesce(kernel_layer.layer, 0)
                WHEN 'graph_launch' THEN 2
                WHEN 'memcpy' THEN 3
                ELSE 4
            END AS layer
        FROM gpu_activity AS activity
        INNER JOIN pair
            ON
                coalesce(activity.process_id, -1) = pair.owner
                AND activity.device_id = pair.device_id
        LEFT JOIN kernel_layer
            ON activity.activity = 'kernel' AND activity.name = kernel_layer.name
        UNION ALL
        SELECT
            pair.key,
            host_work.start_ns,
            host_work.end_ns,
            host_work.layer
        FROM host_work
        INNER JOIN pair ON coalesce(host_work.process_id, -1) = pair.owner
        WHERE host_work.end_ns IS NOT NULL
    ),
    edge AS (
        SELECT
            pair.key,
            unnest([stable_step.start_ns, stable_step.end_ns]) AS time_ns
        FROM stable_step
        INNER JOIN pair ON coalesce(stable_step.process_id, -1) = pair.owner
    )

SELECT
    stable_step.step_index,
    stable_step.process_id,
    pair.device_id,
    stable_step.end_ns - stable_step.start_ns AS duration_ns,
    coalesce(part.layer_0_ns, 0) AS kernel_ns,
    coalesce(part.layer_1_ns, 0) AS communication_ns,
    coalesce(part.layer_2_ns, 0) AS graph_ns,
    coalesce(part.layer_3_ns, 0) AS copy_ns,
    coalesce(part.layer_4_ns, 0) AS fill_ns,
    coalesce(part.layer_5_ns, 0) AS api_ns,
    coalesce(part.layer_6_ns, 0) AS data_loading_ns,
    coalesce(part.layer_7_ns, 0) AS other_cpu_ns,
    coalesce(part.uncovered_ns, 0) AS idle_ns,
    stable_step.stable
FROM stable_step
INNER JOIN pair ON coalesce(stable_step.process_id, -1) = pair.owner
-- A step of length 0 has no part.
LEFT JOIN cover('work', 'edge') AS part
    ON
        pair.key = part.key
        AND stable_step.start_ns = part.start_ns
        AND stable_step.end_ns = part.end_ns
ORDER BY
    stable_step.start_ns ASC, stable_step.process_id ASC, pair.device_id ASC,
    stable_step.step_index ASC;
