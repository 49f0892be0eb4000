-- compute.roofline: what bounds each kernel: arithmetic, memory, or neither.
--
-- By counters: operations and bytes of device memory of each kernel in its summed
-- durations, against the peaks of the GPU. The pipe is the one that came nearest to
-- its own peak. Operations per byte times the peak bandwidth is what memory allows; the
-- lower of that and the pipe's peak is the roof, and roof_share how near the kernel
-- came. A kernel that reached less than a tenth of both peaks is bound by neither:
-- by latency, by too few threads, or by work that is no arithmetic. Kernels count whole
-- if they start in the window.
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
--   device_id              INTEGER  The device, as in the device table.
--   kernel_name            VARCHAR  The kernel.
--   launches               BIGINT   Executions that were measured.
--   total_ns               DOUBLE   Their summed duration.
--   time_share             DOUBLE   total_ns over that of all measured kernels.
--   pipe                   VARCHAR  The pipe that came nearest to its peak.
--   operations             DOUBLE   Operations of that pipe.
--   dram_bytes             DOUBLE   Bytes read from and written to device memory.
--   operations_per_byte    DOUBLE   Arithmetic intensity.
--   operations_per_second  DOUBLE   operations over total_ns.
--   bytes_per_second       DOUBLE   dram_bytes over total_ns.
--   compute_share          DOUBLE   operations_per_second over the pipe's peak, 0 to 1.
--   memory_share           DOUBLE   bytes_per_second over the peak bandwidth, 0 to 1.
--   roof                   VARCHAR  compute or memory: the lower roof.
--   roof_share             DOUBLE   operations_per_second over that roof.
--   bound                  VARCHAR  compute, memory or neither: the larger share.
--   reason                 VARCHAR  What is missing.

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
            sum(fp32_flop * launches) AS fp32,
            sum(fp16_flop * launches) AS fp16,
            sum(fp64_flop * launches) AS fp64,
            sum(tensor_fp16_ops * launches) AS tensor_fp16,
            sum(tensor_bf16_ops * launches) AS tensor_bf16,
            sum(tensor_tf32_ops * launches) AS tensor_tf32,
            sum(tensor_fp64_ops * launches) AS tensor_fp64,
            sum(tensor_int8_ops * launches) AS tensor_int8,
            sum(tensor_fp8_ops * launches) AS tensor_fp8,
            sum(dram_bytes * launches) AS dram_bytes
        FROM measured_kernel('counter', 'ran', 'every')
        GROUP BY device_id, kernel_name
    ),
    piped AS (
        SELECT
            work.device_id,
            work.kernel_name,
            work.launches,
            work.total_ns,
            work.dram_bytes,
            peak.memory_bandwidth,
            unnest([
                { 'pipe': 'fp32', 'operations': work.fp32, 'peak': peak.fp32 },
                { 'pipe': 'fp16', 'operations': work.fp16, 'peak': peak.fp16 },
                { 'pipe': 'fp64', 'operations': work.fp64, 'peak': peak.fp64 },
                {
                    'pipe': 'tensor_fp16',
                    'operations': work.tensor_fp16,
                    'peak': peak.tensor_fp16
                },
                {
                    'pipe': 'tensor_bf16',
                    'operations': work.tensor_bf16,
                    'peak': peak.tensor_bf16
                },
                {
                    'pipe': 'tensor_tf32',
                    'operations': work.tensor_tf32,
                    'peak': peak.tensor_tf32
                },
                {
                    'pipe': 'tensor_fp64',
                    'operations': work.tensor_fp64,
                    'peak': peak.tensor_fp64
                },
                {
                    'pipe': 'tensor_int8',
                    'operations': work.tensor_int8,
                    'peak': peak.tensor_int8
                },
                {
                    'pipe': 'tensor_fp8',
                    'operations': work.tensor_fp8,
                    'peak': peak.tensor_fp8
                }
            ]) AS part
        FROM per_name AS work
        LEFT JOIN gpu_peak('gpu') AS peak ON work.device_id = peak.device_id
    ),
    nearest AS (
        SELECT
            device_id,
            kernel_name,
            any_value(launches) AS launches,
            any_value(total_ns) AS total_ns,
            any_value(dram_bytes) AS dram_bytes,
            any_value(memory_bandwidth) AS memory_bandwidth,
            arg_max(part, part['operations'] / part['peak'])
            FILTER (WHERE part['operations'] IS NOT NULL AND part['peak'] IS NOT NULL)
                AS part,
            count(part['operations']) AS measured_pipes
        FROM piped
        GROUP BY device_id, kernel_name
    ),
    rated AS (
        SELECT
            device_id,
            kernel_name,
            launches,
            total_ns,
            dram_bytes,
            memory_bandwidth,
            measured_pipes,
            part['pipe'] AS pipe,
            part['operations'] AS operations,
            part['peak'] AS peak,
            part['operations'] / nullif(dram_bytes, 0) AS intensity,
            part['operations'] * 1e9 / nullif(total_ns, 0) AS per_second,
            dram_bytes * 1e9 / nullif(total_ns, 0) AS bytes_per_second
        FROM nearest
    )

SELECT
    device_id,
    kernel_name,
    launches,
    total_ns,
    total_ns / sum(total_ns) OVER (PARTITION BY device_id) AS time_share,
    pipe,
    operations,
    dram_bytes,
    intensity AS operations_per_byte,
    per_second AS operations_per_second,
    bytes_per_second,
    per_second / peak AS compute_share,
    bytes_per_second / memory_bandwidth AS memory_share,
    CASE
        WHEN intensity * memory_bandwidth < peak THEN 'memory'
        WHEN intensity * memory_bandwidth >= peak THEN 'compute'
    END AS roof,
    per_second / nullif(least(peak, intensity * memory_bandwidth), 0) AS roof_share,
    CASE
        WHEN
            per_second / peak < 0.1 AND bytes_per_second / memory_bandwidth < 0.1
            THEN 'neither'
        WHEN per_second / peak >= bytes_per_second / memory_bandwidth THEN 'compute'
        WHEN per_second / peak < bytes_per_second / memory_bandwidth THEN 'memory'
    END AS bound,
    CASE
        WHEN measured_pipes = 0 THEN 'no counter of arithmetic was measured'
        WHEN pipe IS NULL THEN 'no peak of the measured pipes is known for this GPU'
        WHEN dram_bytes IS NULL THEN 'the bytes of device memory were not measured'
        WHEN memory_bandwidth IS NULL THEN 'the bandwidth of the GPU is not recorded'
        WHEN total_ns IS NULL THEN 'the durations are not recorded'
    END AS reason
FROM rated
ORDER BY total_ns DESC NULLS LAST, device_id ASC, kernel_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
