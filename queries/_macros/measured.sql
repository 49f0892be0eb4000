-- The measured kernels of a query: those of its window on the timeline; where the run
-- has no timeline, all launches that were measured, with the durations that the
-- counter tool saw. Takes the names of tables or CTEs: `counters` like kernel_counter,
-- `kernels` like kernel and `every` like kernel, but of any time.
CREATE MACRO measured_kernel(counters, kernels, every) AS TABLE (
    WITH
        counter AS (FROM query_table(counters)),
        ran AS (FROM query_table(kernels)),
        recorded_kernel AS (FROM query_table(every)),
        placed AS (
            SELECT
                kernel_id,
                device_id,
                name AS kernel_name,
                start_ns,
                end_ns,
                (end_ns - start_ns)::double AS kernel_ns
            FROM ran
        ),
        -- The linter takes columns in EXCLUDE for unqualified ones.
        matched AS (
            SELECT
                placed.* EXCLUDE (kernel_id), -- noqa: RF02
                counter.* EXCLUDE (device_id, kernel_name) -- noqa: RF02
            FROM counter
            INNER JOIN placed ON counter.kernel_id = placed.kernel_id
        ),
        alone AS (
            SELECT
                *, -- noqa: AM04
                duration_ns AS kernel_ns
            FROM counter
            WHERE kernel_id IS NULL AND NOT EXISTS (FROM recorded_kernel)
        )

    SELECT * FROM matched -- noqa: AM04
    UNION ALL BY NAME
    SELECT * FROM alone -- noqa: AM04
);

-- The kernels of each device by name, with their FP32 rate and that of all of them:
-- tables 5 and 6 of the paper. Takes the names of what measured_kernel takes, and of a
-- table or CTE like device.
CREATE MACRO fp32_rated_kernels(counters, kernels, recorded_kernels, gpus) AS TABLE (
    WITH
        peak AS (FROM gpu_peak(gpus)),
        per_name AS (
            SELECT
                device_id,
                kernel_name,
                sum(launches)::bigint AS launches,
                sum(kernel_ns * launches) AS total_ns,
                sum(fp32_flop * launches) AS flop,
                sum(tensor_operations(
                    tensor_fp16_ops, tensor_bf16_ops, tensor_tf32_ops, tensor_fp64_ops,
                    tensor_int8_ops, tensor_fp8_ops
                ) * launches) AS tensor_operations
            FROM measured_kernel(counters, kernels, recorded_kernels)
            WHERE fp32_flop IS NOT NULL
            GROUP BY device_id, kernel_name
        ),
        rated AS (
            SELECT
                per_name.device_id,
                per_name.kernel_name,
                per_name.launches,
                per_name.total_ns,
                per_name.tensor_operations,
                per_name.total_ns / nullif(sum(per_name.total_ns) OVER of_device, 0)
                    AS time_share,
                per_name.flop * 1e9 / nullif(per_name.total_ns, 0) AS flops_per_second,
                sum(per_name.flop) OVER of_device * 1e9
                / nullif(sum(per_name.total_ns) OVER of_device, 0)
                    AS average_per_second,
                peak.fp32 AS peak
            FROM per_name
            LEFT JOIN peak ON per_name.device_id = peak.device_id
            WINDOW of_device AS (PARTITION BY per_name.device_id)
        )

    FROM rated
);
