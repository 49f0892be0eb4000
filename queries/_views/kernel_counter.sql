-- kernel_counter: the hardware counters of each measured kernel, by what they count.
--
-- One row per kernel of the timeline that counters were matched to, or per measured
-- launch where there was none to match (kernel_id is NULL). Floating-point operations
-- are those of thread instructions that were not predicated off: ADD + MUL + 2 FMA,
-- twice that for those on two operands at once (FADD2, FMUL2, FFMA2 of Blackwell); a
-- sum with a part that was not measured is NULL. Tensor-core operations count 2 a
-- multiply-add. Each value is that of one execution, also where it is the mean of
-- several (`launches`).
--
-- reads:
--   kernel_metric  lookup

WITH
    counted AS (
        SELECT
            metric,
            counter_kind(metric) AS kind
        FROM (SELECT DISTINCT metric FROM recorded.kernel_metric) AS named
    ),
    -- One value a kernel and counter, also where two files measured it.
    measured AS (
        SELECT
            metric.kernel_id,
            CASE WHEN metric.kernel_id IS NULL THEN metric.launch_index END AS launch,
            CASE WHEN metric.kernel_id IS NULL THEN metric.kernel_name END AS name,
            CASE WHEN metric.kernel_id IS NULL THEN metric.tool END AS by_tool,
            counted.kind,
            metric.metric,
            avg(metric.value) AS value,
            min(metric.kernel_name) AS kernel_name,
            min(metric.process_id) AS process_id,
            min(metric.device_id) AS device_id,
            min(metric.tool) AS tool,
            max(metric.launches) AS launches
        FROM recorded.kernel_metric AS metric
        INNER JOIN counted ON metric.metric = counted.metric
        WHERE counted.kind IS NOT NULL
        GROUP BY ALL
    ),
    by_kind AS (
        SELECT
            kernel_id,
            launch AS launch_index,
            any_value(kernel_name) AS kernel_name,
            any_value(process_id) AS process_id,
            any_value(device_id) AS device_id,
            any_value(tool) AS tool,
            coalesce(max(launches), 1) AS launches,
            avg(value) FILTER (WHERE kind = 'fadd') AS fadd,
            avg(value) FILTER (WHERE kind = 'fmul') AS fmul,
            avg(value) FILTER (WHERE kind = 'ffma') AS ffma,
            avg(value) FILTER (WHERE kind = 'fadd2') AS fadd2,
            avg(value) FILTER (WHERE kind = 'fmul2') AS fmul2,
            avg(value) FILTER (WHERE kind = 'ffma2') AS ffma2,
            avg(value) FILTER (WHERE kind = 'fp32_flop') AS fp32_flop,
            avg(value) FILTER (WHERE kind = 'hadd') AS hadd,
            avg(value) FILTER (WHERE kind = 'hmul') AS hmul,
            avg(value) FILTER (WHERE kind = 'hfma') AS hfma,
            avg(value) FILTER (WHERE kind = 'fp16_flop') AS fp16_flop,
            avg(value) FILTER (WHERE kind = 'dadd') AS dadd,
            avg(value) FILTER (WHERE kind = 'dmul') AS dmul,
            avg(value) FILTER (WHERE kind = 'dfma') AS dfma,
            avg(value) FILTER (WHERE kind = 'fp64_flop') AS fp64_flop,
            sum(value) FILTER (WHERE kind = 'tensor_fp16') AS tensor_fp16,
            sum(value) FILTER (WHERE kind = 'tensor_fp16_part') AS tensor_fp16_part,
            sum(value) FILTER (WHERE kind = 'tensor_bf16') AS tensor_bf16,
            sum(value) FILTER (WHERE kind = 'tensor_bf16_part') AS tensor_bf16_part,
            sum(value) FILTER (WHERE kind = 'tensor_tf32') AS tensor_tf32,
            sum(value) FILTER (WHERE kind = 'tensor_tf32_part') AS tensor_tf32_part,
            sum(value) FILTER (WHERE kind = 'tensor_fp64') AS tensor_fp64,
            sum(value) FILTER (WHERE kind = 'tensor_fp64_part') AS tensor_fp64_part,
            sum(value) FILTER (WHERE kind = 'tensor_int8') AS tensor_int8,
            sum(value) FILTER (WHERE kind = 'tensor_int8_part') AS tensor_int8_part,
            sum(value) FILTER (WHERE kind = 'tensor_fp8') AS tensor_fp8,
            sum(value) FILTER (WHERE kind = 'tensor_fp8_part') AS tensor_fp8_part,
            max(value) FILTER (WHERE kind = 'tensor_active') AS tensor_active,
            max(value) FILTER (WHERE kind = 'fma_active') AS fma_active,
            max(value) FILTER (WHERE kind = 'warps_active') AS warps_active,
            max(value) FILTER (WHERE kind = 'achieved_occupancy') AS occupancy,
            avg(value) FILTER (WHERE kind = 'dram_bytes') AS dram_bytes,
            sum(value) FILTER (WHERE kind = 'dram_bytes_part') AS dram_bytes_parts,
            count(*) FILTER (WHERE kind = 'dram_bytes_part') AS dram_parts,
            avg(value) FILTER (WHERE kind = 'duration_ns') AS duration_ns
        FROM measured
        GROUP BY kernel_id, launch, name, by_tool
    )

SELECT
    kernel_id,
    launch_index,
    kernel_name,
    process_id,
    device_id,
    tool,
    launches,
    coalesce(
        fadd + fmul + 2 * ffma
        + CASE
            WHEN coalesce(fadd2, fmul2, ffma2) IS NULL THEN 0
            ELSE 2 * (fadd2 + fmul2 + 2 * ffma2)
        END,
        fp32_flop
    ) AS fp32_flop,
    coalesce(hadd + hmul + 2 * hfma, fp16_flop) AS fp16_flop,
    coalesce(dadd + dmul + 2 * dfma, fp64_flop) AS fp64_flop,
    coalesce(tensor_fp16, tensor_fp16_part) AS tensor_fp16_ops,
    coalesce(tensor_bf16, tensor_bf16_part) AS tensor_bf16_ops,
    coalesce(tensor_tf32, tensor_tf32_part) AS tensor_tf32_ops,
    coalesce(tensor_fp64, tensor_fp64_part) AS tensor_fp64_ops,
    coalesce(tensor_int8, tensor_int8_part) AS tensor_int8_ops,
    coalesce(tensor_fp8, tensor_fp8_part) AS tensor_fp8_ops,
    tensor_active / 100 AS tensor_active_share,
    fma_active / 100 AS fma_active_share,
    coalesce(warps_active / 100, occupancy) AS achieved_occupancy,
    coalesce(dram_bytes, CASE WHEN dram_parts = 2 THEN dram_bytes_parts END)
        AS dram_bytes,
    duration_ns
FROM by_kind;
