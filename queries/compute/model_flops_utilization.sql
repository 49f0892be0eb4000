-- compute.model_flops_utilization: FLOP of the model's operators over the GPU's peak.
--
-- FLOP come from the shapes of operators (compute.flops_by_operator), so they are what
-- the model asks for; which units ran them is unknown, and compute.fp32_utilization and
-- compute.pipes say what counters saw. Utilization is against the peak of the precision
-- of the inputs: tensor cores for fp16, bf16, fp8 and int8; for fp32 both that of the
-- FP32 units and, since products of 32-bit numbers may run as TF32, that of TF32 tensor
-- cores. Two denominators: the time in which kernels ran (as FP32 utilization has), and
-- the window (MFU as in PaLM). Operators belong to the GPUs that their process used;
-- where it used several there is one row for all of them, against the sum of their
-- peaks and times. NVTX ranges record no types: they are taken as fp32, and
-- precision_source says so.
--
-- reads:
--   operator_flop  rows
--   kernel         clip
--   time_window    lookup
--   user_process   whole
--   device         lookup
-- needs:
--   operator_flop
--   kernel
-- parameters:
--   peak_flops  DOUBLE = 0    Peak in FLOP/s of each GPU to use instead; 0 for the
--                             derived.
-- columns:
--   process_id        INTEGER  The process, as in the process table.
--   devices           VARCHAR  Its GPUs, as JSON list of device_id.
--   precision         VARCHAR  fp32, fp64, fp16, bf16, fp8 or int8.
--   precision_source  VARCHAR  recorded, or assumed where types are not recorded.
--   operators         BIGINT   Operators with FLOP.
--   uncounted         BIGINT   Products, convolutions, attention and recurrent layers
--                              whose shapes do not tell.
--   flop              DOUBLE   Their FLOP.
--   kernel_busy_ns    BIGINT   Time in which a kernel ran, summed over the GPUs.
--   window_ns         BIGINT   Length of the window, summed over the GPUs.
--   peak_flops        DOUBLE   Peak of the precision in FLOP/s.
--   model_flops_utilization           DOUBLE  flop over peak x kernel_busy_ns.
--   model_flops_utilization_of_window DOUBLE  flop over peak x window_ns.
--   tensor_peak_flops                 DOUBLE  For fp32: peak of TF32 tensor cores.
--   tensor_model_flops_utilization    DOUBLE  flop over that x kernel_busy_ns.
--   reason            VARCHAR  Why there is no utilization.

WITH
    gpu AS NOT MATERIALIZED (FROM device),
    peak AS (FROM gpu_peak('gpu')),
    owner AS (
        SELECT DISTINCT coalesce(process_id, -1) AS process_id
        FROM operator_flop
    ),
    -- Where a process has operators but none of the GPU work, as when ids are not
    -- recorded, nothing is said of its time.
    used AS (
        SELECT
            owner.process_id,
            user_process.device_id
        FROM owner
        INNER JOIN user_process
            ON owner.process_id = coalesce(user_process.process_id, -1)
    ),
    running AS (
        SELECT
            device_id AS key,
            start_ns,
            end_ns
        FROM kernel
    ),
    busy AS (FROM covered('running')),
    lengths AS (
        SELECT
            device_id,
            sum(end_ns - start_ns) AS window_ns
        FROM time_window
        GROUP BY device_id
    ),
    available AS (
        SELECT
            used.process_id,
            to_json(list(used.device_id ORDER BY used.device_id))::VARCHAR AS devices,
            sum(busy.covered_ns)::BIGINT AS kernel_busy_ns,
            sum(lengths.window_ns)::BIGINT AS window_ns,
            any_value(device.compute_capability) AS capability,
            any_value(peak.clock_hz) AS clock_hz,
            min(peak.fp32) AS fp32,
            min(peak.tensor_tf32) AS tf32,
            min(coalesce(peak.tensor_fp64, peak.fp64)) AS fp64,
            min(coalesce(peak.tensor_fp16, peak.fp16)) AS fp16,
            min(peak.tensor_bf16) AS bf16,
            min(peak.tensor_fp8) AS fp8,
            min(peak.tensor_int8) AS int8
        FROM used
        LEFT JOIN busy ON used.device_id = busy.key
        LEFT JOIN lengths ON used.device_id = lengths.device_id
        LEFT JOIN device ON used.device_id = device.device_id
        LEFT JOIN peak ON used.device_id = peak.device_id
        GROUP BY used.process_id
    ),
    work AS (
        SELECT
            process_id,
            coalesce(precision, 'fp32') AS precision,
            precision IS NULL AS is_assumed,
            count(flop) AS operators,
            count(*) FILTER (WHERE flop IS NULL) AS uncounted,
            sum(flop) AS flop
        FROM operator_flop
        WHERE category NOT IN ('normalization', 'pointwise')
        GROUP BY ALL
    ),
    against AS (
        SELECT
            work.*,
            available.devices,
            available.kernel_busy_ns,
            available.window_ns,
            available.capability,
            available.clock_hz,
            CASE
                WHEN $peak_flops > 0 THEN $peak_flops
                WHEN work.precision = 'fp32' THEN available.fp32
                WHEN work.precision = 'fp64' THEN available.fp64
                WHEN work.precision = 'fp16' THEN available.fp16
                WHEN work.precision = 'bf16' THEN available.bf16
                WHEN work.precision = 'fp8' THEN available.fp8
                WHEN work.precision = 'int8' THEN available.int8
            END AS peak,
            CASE WHEN work.precision = 'fp32' THEN available.tf32 END AS tensor_peak
        FROM work
        LEFT JOIN available ON coalesce(work.process_id, -1) = available.process_id
    )

SELECT
    process_id,
    devices,
    precision,
    CASE WHEN is_assumed THEN 'assumed' ELSE 'recorded' END AS precision_source,
    operators,
    uncounted,
    flop,
    kernel_busy_ns,
    window_ns,
    peak AS peak_flops,
    flop * 1e9 / nullif(kernel_busy_ns, 0) / peak AS model_flops_utilization,
    flop * 1e9 / nullif(window_ns, 0) / peak AS model_flops_utilization_of_window,
    tensor_peak AS tensor_peak_flops,
    flop * 1e9 / nullif(kernel_busy_ns, 0) / tensor_peak
        AS tensor_model_flops_utilization,
    CASE
        WHEN flop IS NULL THEN 'no shapes that tell the FLOP are recorded'
        WHEN coalesce(kernel_busy_ns, 0) = 0 THEN 'no kernel of its process is recorded'
        ELSE no_peak_reason(peak, capability, clock_hz)
    END AS reason
FROM against
ORDER BY process_id ASC, flop DESC NULLS LAST, precision ASC, is_assumed ASC;
