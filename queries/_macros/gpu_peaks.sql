-- What a GPU can do at most, by compute capability.

-- Work of one SM in one clock. FP64 and FP16 outside of tensor cores are 2 x the
-- "number of results per clock cycle per multiprocessor" for multiply-add in the table
-- "Throughput of Native Arithmetic Instructions" of NVIDIA's CUDA C++ Programming
-- Guide. Tensor columns are dense FLOP (or integer operations) a clock, from the tables
-- of NVIDIA's architecture white papers (Volta, Turing, A100, GA102, Ada, H100,
-- Blackwell): their peak over SMs and clock, with the full rate of FP32 accumulation
-- that the professional boards of a family have. tensor_clock_hz is the boost clock
-- for tensor cores where the H100 paper names a lower one than for the rest. NULL:
-- not there, or not published.
CREATE MACRO capability_rate() AS TABLE (
    FROM (
        VALUES
        ('3.0', 16, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('3.2', 16, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('3.5', 128, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('3.7', 128, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('5.0', 8, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('5.2', 8, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('5.3', 8, 512, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('6.0', 64, 256, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('6.1', 8, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('6.2', 8, 512, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('7.0', 64, 256, 1024, NULL, NULL, NULL, NULL, NULL, NULL),
        ('7.2', 64, 256, 1024, NULL, NULL, NULL, 2048, NULL, NULL),
        ('7.5', 4, 256, 1024, NULL, NULL, NULL, 2048, NULL, NULL),
        ('8.0', 64, 512, 2048, 2048, 1024, 128, 4096, NULL, NULL),
        ('8.6', 4, 256, 1024, 1024, 512, NULL, 2048, NULL, NULL),
        ('8.7', 4, 256, 2048, 2048, 1024, NULL, 4096, NULL, NULL),
        ('8.9', 4, 256, 1024, 1024, 512, NULL, 2048, 2048, NULL),
        ('9.0', 128, 512, 4096, 4096, 2048, 256, 8192, 8192, 1830000000),
        ('10.0', 128, 512, 8192, 8192, 4096, 128, 16384, 16384, NULL),
        ('10.1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('10.3', NULL, 512, 8192, 8192, 4096, NULL, NULL, 16384, NULL),
        ('11.0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('12.0', 4, 256, 1024, 1024, 512, NULL, 2048, 2048, NULL),
        ('12.1', 4, 256, 1024, 1024, 512, NULL, 2048, 2048, NULL)
    ) AS rate (
        compute_capability, fp64, fp16, tensor_fp16, tensor_bf16, tensor_tf32,
        tensor_fp64, tensor_int8, tensor_fp8, tensor_clock_hz
    )
);

-- The maximum SM clock of boards whose traces may lack it: the boost clock that their
-- data sheets name, in Hz; NULL for any other board. On consumer boards the two
-- differ.
CREATE MACRO board_clock_hz(name) AS (
    CASE
        WHEN regexp_matches(name, 'H[12]00') AND NOT regexp_matches(name, 'PCIe|NVL')
            THEN 1980000000
        WHEN contains(name, 'A100') THEN 1410000000
        WHEN contains(name, 'V100-SXM') THEN 1530000000
        WHEN regexp_matches(name, '\bT4\b') THEN 1590000000
    END
)::bigint;

-- FP32 lanes of an SM are in `device.peak_fp32_flops` already; a trace without the
-- clock has no such peak, and it is made up here from the lanes.
CREATE MACRO fp32_lanes(capability) AS (
    CASE
        WHEN capability LIKE '3._' THEN 192
        WHEN capability IN ('6.0', '7.0', '7.2', '7.5', '8.0') THEN 64
        WHEN
            capability LIKE '5._' OR capability LIKE '6._' OR capability LIKE '8._'
            OR capability LIKE '9._' OR capability LIKE '1_._'
            THEN 128
    END
);

-- The peaks of each GPU in FLOP/s (int8: operations/s), and how that of FP32 was
-- computed. Takes the name of a table or CTE like device.
CREATE MACRO gpu_peak(devices) AS TABLE (
    WITH
        clocked AS (
            SELECT
                *,
                coalesce(max_clock_hz, board_clock_hz(name)) AS clock_hz,
                compute_capability AS capability
            FROM query_table(devices)
        ),
        rated AS (
            -- The linter takes columns in EXCLUDE for unqualified ones.
            SELECT
                clocked.*,
                rate.* EXCLUDE (compute_capability), -- noqa: RF02
                clocked.sm_count::double * clocked.clock_hz AS sm_clock,
                clocked.sm_count::double * least(
                    clocked.clock_hz, coalesce(rate.tensor_clock_hz, clocked.clock_hz)
                ) AS sm_tensor_clock
            FROM clocked
            LEFT JOIN capability_rate() AS rate
                ON clocked.capability = rate.compute_capability
        )

    SELECT
        device_id,
        coalesce(peak_fp32_flops, 2 * fp32_lanes(capability) * sm_clock) AS fp32,
        coalesce(
            peak_fp32_derivation,
            CASE
                WHEN sm_clock IS NOT NULL AND fp32_lanes(capability) IS NOT NULL
                    THEN
                        '2 x ' || fp32_lanes(capability) || ' FP32 lanes per SM x '
                        || sm_count || ' SMs x ' || clock_hz || ' Hz'
                        || ' (clock of the data sheet)'
            END
        ) AS fp32_derivation,
        fp64 * sm_clock AS fp64,
        fp16 * sm_clock AS fp16,
        tensor_fp16 * sm_tensor_clock AS tensor_fp16,
        tensor_bf16 * sm_tensor_clock AS tensor_bf16,
        tensor_tf32 * sm_tensor_clock AS tensor_tf32,
        -- FP64 tensor cores keep the full clock.
        tensor_fp64 * sm_clock AS tensor_fp64,
        tensor_int8 * sm_tensor_clock AS tensor_int8,
        tensor_fp8 * sm_tensor_clock AS tensor_fp8,
        clock_hz,
        memory_bandwidth::double AS memory_bandwidth
    FROM rated
);

-- Why a GPU has no peak, or NULL. Takes the columns of device.
CREATE MACRO no_peak_reason(peak, capability, clock_hz) AS CASE
    WHEN peak IS NOT NULL THEN NULL
    WHEN capability IS NULL THEN 'no peak: the compute capability is not recorded'
    WHEN clock_hz IS NULL THEN 'no peak: the clock of the GPU is not recorded'
    ELSE 'no peak: none is known for compute capability ' || capability
END;

-- What fits an SM, from the table "Technical Specifications per Compute Capability" of
-- the CUDA C++ Programming Guide, where a trace does not say it; and the unit in which
-- shared memory is given out, with what the driver takes of it for each block, from
-- NVIDIA's occupancy calculator.
CREATE MACRO capability_limit() AS TABLE (
    FROM (
        VALUES
        ('3.0', 64, 16, 256, 0),
        ('3.2', 64, 16, 256, 0),
        ('3.5', 64, 16, 256, 0),
        ('3.7', 64, 16, 256, 0),
        ('5.0', 64, 32, 256, 0),
        ('5.2', 64, 32, 256, 0),
        ('5.3', 64, 32, 256, 0),
        ('6.0', 64, 32, 256, 0),
        ('6.1', 64, 32, 256, 0),
        ('6.2', 64, 32, 256, 0),
        ('7.0', 64, 32, 256, 0),
        ('7.2', 64, 32, 256, 0),
        ('7.5', 32, 16, 256, 0),
        ('8.0', 64, 32, 128, 1024),
        ('8.6', 48, 16, 128, 1024),
        ('8.7', 48, 16, 128, 1024),
        ('8.9', 48, 24, 128, 1024),
        ('9.0', 64, 32, 128, 1024),
        ('10.0', 64, 32, 128, 1024),
        ('10.1', 48, 24, 128, 1024),
        ('10.3', 64, 32, 128, 1024),
        ('11.0', 48, 24, 128, 1024),
        ('12.0', 48, 24, 128, 1024),
        ('12.1', 48, 24, 128, 1024)
    ) AS capability (
        compute_capability, max_warps, max_blocks, shared_unit, reserved_shared
    )
);
