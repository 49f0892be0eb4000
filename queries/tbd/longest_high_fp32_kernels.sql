-- tbd.longest_high_fp32_kernels: longest kernels at or above average FP32 utilization.
--
-- The other half of tables 5 and 6 of "Benchmarking and Analyzing Deep Neural Network
-- Training" (TBD, IISWC 2018): the kernels that take most time and use the FP32 units.
-- FP32 utilization of a kernel is FADD + FMUL + 2 FFMA thread instructions over the
-- FP32 peak in its summed durations, by counters alone; the average is that of all
-- measured kernels of the device, weighted by duration. A kernel that works on tensor
-- cores has a low FP32 utilization too: tensor_operations tells it. Kernels count by
-- name, whole if they start in the window.
--
-- reads:
--   kernel          rows
--   kernel_counter  lookup
--   device          lookup
-- needs:
--   kernel_metric
-- parameters:
--   limit  BIGINT = 5    Rows of each device, 0 for all.
-- columns:
--   device_id            INTEGER  The device, as in the device table.
--   kernel_name          VARCHAR  The kernel.
--   launches             BIGINT   Executions that were measured.
--   total_ns             DOUBLE   Their summed duration.
--   time_share           DOUBLE   total_ns over that of all measured kernels, 0 to 1.
--   fp32_utilization     DOUBLE   Its FP32 utilization, 0 to 1.
--   average_utilization  DOUBLE   That of all measured kernels of the device.
--   tensor_operations    DOUBLE   Operations of tensor cores; NULL if not measured.

WITH
    gpu AS NOT MATERIALIZED (FROM device),
    ran AS NOT MATERIALIZED (FROM kernel),
    every AS NOT MATERIALIZED (FROM recorded.kernel),
    counter AS NOT MATERIALIZED (FROM kernel_counter),
    -- Against the same peak, so that the order of the two needs none.
    ranked AS (
        SELECT
            *,
            row_number() OVER (
                PARTITION BY device_id
                ORDER BY total_ns DESC, kernel_name ASC
            ) AS place
        FROM fp32_rated_kernels('counter', 'ran', 'every', 'gpu')
        WHERE flops_per_second >= average_per_second
    )

SELECT
    device_id,
    kernel_name,
    launches,
    total_ns,
    time_share,
    flops_per_second / peak AS fp32_utilization,
    average_per_second / peak AS average_utilization,
    tensor_operations
FROM ranked
WHERE $limit = 0 OR place <= $limit
ORDER BY device_id ASC, total_ns DESC, kernel_name ASC;
