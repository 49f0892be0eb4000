-- The type that a tensor-core counter is of.
CREATE MACRO tensor_type(metric) AS CASE
regexp_extract(metric, '_src_([a-z0-9]+)', 1)
    WHEN 's8' THEN 'int8'
    WHEN 'u8' THEN 'int8'
    WHEN 'e4m3' THEN 'fp8'
    WHEN 'e5m2' THEN 'fp8'
    ELSE regexp_extract(metric, '_src_([a-z0-9]+)', 1)
END;

-- What a hardware counter of a kernel counts, by its name in Nsight Compute or nvprof;
-- NULL for those that no query reads. Kinds that end in `_part` are parts of a total
-- that has a counter of its own.
CREATE MACRO counter_kind(metric) AS CASE
    WHEN
        regexp_matches(
            metric,
            '^sm(sp)?__sass_thread_inst_executed_op_'
            || '([fhd](add|mul|fma)|f(add|mul|fma)2)_pred_on\.sum$'
        )
        THEN regexp_extract(metric, '_op_([a-z]+2?)_', 1)
    WHEN regexp_matches(metric, '^flop_count_[shd]p_(add|mul|fma)$')
        THEN
            replace(
                replace(replace(metric[12:], 'sp_', 'f'), 'hp_', 'h'), 'dp_', 'd'
            )
    WHEN metric = 'flop_count_sp' THEN 'fp32_flop'
    WHEN metric = 'flop_count_hp' THEN 'fp16_flop'
    WHEN metric = 'flop_count_dp' THEN 'fp64_flop'
    -- Turing's tensor cores take no BF16 and no TF32.
    WHEN metric = 'sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum'
        THEN 'tensor_fp16'
    WHEN
        regexp_matches(
            metric, '^sm__ops_path_tensor_src_[a-z0-9]+(_dst_[a-z0-9]+)?\.sum$'
        )
        THEN 'tensor_' || tensor_type(metric)
    WHEN
        regexp_matches(
            metric,
            '^sm__ops_path_tensor_src_[a-z0-9]+(_dst_[a-z0-9]+)?_sparsity_o[nf]+\.sum$'
        )
        THEN 'tensor_' || tensor_type(metric) || '_part'
    WHEN
        regexp_matches(
            metric,
            '^sm(sp)?__(inst_executed_)?pipe_tensor.*\.avg'
            || '\.pct_of_peak_sustained_(active|elapsed)$'
        )
        THEN 'tensor_active'
    WHEN
        regexp_matches(
            metric,
            '^sm(sp)?__(inst_executed_)?pipe_fma(_cycles_active)?\.avg'
            || '\.pct_of_peak_sustained_(active|elapsed)$'
        )
        THEN 'fma_active'
    WHEN metric = 'dram__bytes.sum' THEN 'dram_bytes'
    WHEN
        metric IN (
            'dram__bytes_read.sum', 'dram__bytes_write.sum', 'dram_read_bytes',
            'dram_write_bytes'
        )
        THEN 'dram_bytes_part'
    WHEN metric = 'gpu__time_duration.sum' THEN 'duration_ns'
    WHEN
        metric = 'sm__warps_active.avg.pct_of_peak_sustained_active'
        THEN 'warps_active'
    WHEN metric = 'achieved_occupancy' THEN 'achieved_occupancy'
END;

-- Operations of tensor cores of all types; NULL where none was measured.
CREATE MACRO tensor_operations(fp16, bf16, tf32, fp64, int8, fp8) AS
list_sum([fp16, bf16, tf32, fp64, int8, fp8]);

-- Whether a kernel's name says that it was built from tensor-core instructions: the
-- shapes and types that cuBLAS, cuDNN, CUTLASS and Triton write into it. NULL: it does
-- not say.
CREATE MACRO tensor_core_hint(name) AS CASE
    WHEN regexp_matches(name, '(?i)simt') THEN FALSE
    WHEN
        regexp_matches(
            name,
            '(?i)tensorop|[hwgi]mma|_[hsi](884|1688|16816|8816)|[hsi]16816|[hsi]1688'
            || '|[hsi]884(gemm|cudnn)?|^nvjet_|fmha|flash_(fwd|bwd)'
            || '|(xmma|cutlass|nvjet).*(tf32|f16|bf16|e4m3|e5m2|_s8)'
        )
        THEN TRUE
END;

-- What a sampled metric of a GPU says to be active, by its name in Nsight Systems; NULL
-- for those that say nothing of the kind.
CREATE MACRO sampled_pipe(metric) AS CASE
    WHEN regexp_matches(metric, '(?i)^tensor active|tensor pipe') THEN 'tensor'
    WHEN regexp_matches(metric, '(?i)^(fp32|fma|fmaheavy|fmalite)\b.*(active|pipe)')
        THEN 'fp32'
    WHEN regexp_matches(metric, '(?i)^fp16\b.*(active|pipe)') THEN 'fp16'
    WHEN regexp_matches(metric, '(?i)^fp64\b.*(active|pipe)') THEN 'fp64'
    WHEN regexp_matches(metric, '(?i)^sms? active') THEN 'sm'
    WHEN regexp_matches(metric, '(?i)^sm issue') THEN 'issue'
    WHEN regexp_matches(metric, '(?i)^gr active') THEN 'graphics'
    WHEN regexp_matches(metric, '(?i)^dram read') THEN 'dram_read'
    WHEN regexp_matches(metric, '(?i)^dram write') THEN 'dram_write'
    WHEN
        regexp_matches(metric, '(?i)\b(active|pipe)\b')
        AND NOT contains(metric, 'Warps')
        THEN 'other'
END;
