-- compute.flops_by_kernel: operations of each kernel by counters, and its utilization.
--
-- FP32 FLOP are FADD + FMUL + 2 FFMA thread instructions; tensor operations are those
-- of all types together, 2 a multiply-add. FP32 utilization is FLOP over the peak in
-- the summed durations. Operations, bytes and rates are those of the measured
-- executions, whole if they start in the window; without a timeline, those that the
-- counter tool ran.
--
-- reads:
--   kernel          rows
--   kernel_counter  lookup
--   device          lookup
-- needs:
--   kernel_metric
-- parameters:
--   limit  BIGINT = 20    Rows to return, 0 for all.
-- columns:
--   device_id          INTEGER  The device, as in the device table.
--   kernel_name        VARCHAR  The kernel.
--   launches           BIGINT   Executions that were measured.
--   total_ns           DOUBLE   Their summed duration.
--   time_share         DOUBLE   total_ns over that of all measured kernels, 0 to 1.
--   fp32_flop          DOUBLE   FP32 FLOP.
--   fp16_flop          DOUBLE   FP16 FLOP outside of tensor cores.
--   fp64_flop          DOUBLE   FP64 FLOP outside of tensor cores.
--   tensor_operations  DOUBLE   Operations of tensor cores.
--   dram_bytes         DOUBLE   Bytes read from and written to device memory.
--   fp32_utilization   DOUBLE   fp32_flop over the FP32 peak in total_ns, 0 to 1.
--   tensor_per_second  DOUBLE   tensor_operations over total_ns.

WITH
    gpu AS NOT MATERIALIZED (FROM device),
    ran AS NOT MATERIALIZED (FROM kernel),
    every AS NOT MATERIALIZED (FROM recorded.kernel),
    counter AS NOT MATERIALIZED (FROM kernel_counter),
    per_name AS (
        SELECT
            device_id,
            kernel_name,
            sum(launches)::BIGINT AS launches,
            sum(kernel_ns * launches) AS total_ns,
            sum(fp32_flop * launches) AS fp32_flop,
            sum(fp16_flop * launches) AS fp16_flop,
            sum(fp64_flop * launches) AS fp64_flop,
            sum(tensor_operations(
                tensor_fp16_ops, tensor_bf16_ops, tensor_tf32_ops, tensor_fp64_ops,
                tensor_int8_ops, tensor_fp8_ops
            ) * launches) AS tensor_operations,
            sum(dram_bytes * launches) AS dram_bytes
        FROM measured_kernel('counter', 'ran', 'every')
        GROUP BY device_id, kernel_name
    )

SELECT
    per_name.device_id,
    per_name.kernel_name,
    per_name.launches,
    per_name.total_ns,
    per_name.total_ns / sum(per_name.total_ns) OVER (PARTITION BY per_name.device_id)
        AS time_share,
    per_name.fp32_flop,
    per_name.fp16_flop,
    per_name.fp64_flop,
    per_name.tensor_operations,
    per_name.dram_bytes,
    per_name.fp32_flop * 1e9 / nullif(per_name.total_ns, 0) / peak.fp32
        AS fp32_utilization,
    per_name.tensor_operations * 1e9 / nullif(per_name.total_ns, 0)
        AS tensor_per_second
FROM per_name
LEFT JOIN gpu_peak('gpu') AS peak ON per_name.device_id = peak.device_id
ORDER BY
    per_name.total_ns DESC NULLS LAST, per_name.device_id ASC,
    per_name.kernel_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
