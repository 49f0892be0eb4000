-- compute.tensor_core_use: which kernels ran on tensor cores.
--
-- By counters where they were measured: operations of tensor cores, or the share of
-- time that their pipe was active. Elsewhere the kernel's name gives a hint only, and
-- `source` says so: names of libraries tell the instructions they were built from, but
-- a name without such a mark tells nothing, and uses_tensor_cores is NULL then. Kernels
-- count whole if they start in the window.
--
-- reads:
--   kernel          rows
--   kernel_counter  lookup
-- needs:
--   kernel
-- parameters:
--   limit  BIGINT = 20    Rows to return, 0 for all.
-- columns:
--   device_id            INTEGER  The device, as in the device table.
--   kernel_name          VARCHAR  The kernel.
--   launches             BIGINT   Executions that were counted.
--   total_ns             BIGINT   Their summed duration.
--   time_share           DOUBLE   total_ns over that of the device, 0 to 1.
--   uses_tensor_cores    BOOLEAN  Whether tensor cores worked in it; NULL if unknown.
--   source               VARCHAR  counters, or name: a hint.
--   measured_launches    BIGINT   Executions with counters of tensor cores.
--   tensor_operations    DOUBLE   Their operations, 2 a multiply-add.
--   tensor_active_share  DOUBLE   Share of the time in which the tensor pipe was
--                                 active, weighted by duration, 0 to 1.

WITH
    counted AS (
        SELECT
            kernel_id,
            tensor_active_share,
            tensor_operations(
                tensor_fp16_ops, tensor_bf16_ops, tensor_tf32_ops, tensor_fp64_ops,
                tensor_int8_ops, tensor_fp8_ops
            ) AS operations
        FROM kernel_counter
        WHERE kernel_id IS NOT NULL
    ),
    per_name AS (
        SELECT
            kernel.device_id,
            kernel.name AS kernel_name,
            count(*) AS launches,
            sum(kernel.end_ns - kernel.start_ns)::BIGINT AS total_ns,
            count(coalesce(counted.operations, counted.tensor_active_share))
                AS measured_launches,
            sum(counted.operations) AS tensor_operations,
            sum(counted.tensor_active_share * (kernel.end_ns - kernel.start_ns))
            / nullif(
                sum(kernel.end_ns - kernel.start_ns)
                FILTER (WHERE counted.tensor_active_share IS NOT NULL),
                0
            ) AS tensor_active_share
        FROM kernel
        LEFT JOIN counted ON kernel.kernel_id = counted.kernel_id
        GROUP BY kernel.device_id, kernel.name
    )

SELECT
    device_id,
    kernel_name,
    launches,
    total_ns,
    total_ns / sum(total_ns) OVER (PARTITION BY device_id) AS time_share,
    CASE
        WHEN measured_launches > 0
            THEN greatest(tensor_operations, tensor_active_share) > 0
        ELSE tensor_core_hint(kernel_name)
    END AS uses_tensor_cores,
    CASE
        WHEN measured_launches > 0 THEN 'counters'
        WHEN tensor_core_hint(kernel_name) IS NOT NULL THEN 'name'
    END AS source,
    measured_launches,
    tensor_operations,
    tensor_active_share
FROM per_name
ORDER BY total_ns DESC, device_id ASC, kernel_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
