-- compute.fp32_utilization: how much of its FP32 peak each GPU reached, by counters.
--
-- FP32 utilization as in "Benchmarking and Analyzing Deep Neural Network Training"
-- (TBD, IISWC 2018): FLOP of FADD + FMUL + 2 FFMA thread instructions over the peak in
-- the time in which kernels ran. Hardware counters alone fill it; work of tensor cores
-- is no FP32 work (compute.pipes has both side by side), and FLOPs from the shapes of
-- operators are compute.model_flops_utilization. The peak is 2 x FP32 lanes per SM x
-- SMs x maximum SM clock. Where some kernels were not measured, FLOP, time and
-- utilization are those of the measured ones. Without a timeline the time is the sum
-- that the counter tool measured, which runs one kernel at a time. Intervals are not
-- cut: a kernel counts whole if it starts in the window.
--
-- reads:
--   kernel          rows
--   kernel_counter  lookup
--   counter_sample  rows
--   device          lookup
-- needs:
--   kernel_metric
-- parameters:
--   peak_flops  DOUBLE = 0    FP32 peak in FLOP/s to use instead; 0 for the derived.
-- columns:
--   device_id                 INTEGER  The device, as in the device table.
--   kernels                   BIGINT   Kernels that ran, measured or not.
--   measured_kernels          BIGINT   Those with FP32 counters.
--   measured_share            DOUBLE   Their part of the summed durations, 0 to 1.
--   fp32_flop                 DOUBLE   Their FP32 FLOP.
--   kernel_busy_ns            BIGINT   Time in which one of them ran.
--   flops_per_second          DOUBLE   FLOP over that time.
--   peak_fp32_flops           DOUBLE   Peak in FLOP/s.
--   fp32_utilization          DOUBLE   flops_per_second over the peak, 0 to 1.
--   mean_clock_hz             DOUBLE   Mean sampled SM clock; NULL if not sampled.
--   fp32_utilization_at_mean_clock  DOUBLE  Against the peak at that clock.
--   peak_derivation           VARCHAR  How the peak was computed.
--   reason                    VARCHAR  Why there is no utilization.

WITH
    gpu AS NOT MATERIALIZED (FROM device),
    ran AS NOT MATERIALIZED (FROM kernel),
    every AS NOT MATERIALIZED (FROM recorded.kernel),
    counter AS NOT MATERIALIZED (FROM kernel_counter),
    measured AS (
        SELECT
            device_id,
            start_ns,
            end_ns,
            kernel_ns * launches AS kernel_ns,
            fp32_flop * launches AS flop,
            launches
        FROM measured_kernel('counter', 'ran', 'every')
    ),
    with_flop AS (
        SELECT
            device_id AS key,
            start_ns,
            end_ns
        FROM measured
        WHERE flop IS NOT NULL AND start_ns IS NOT NULL
    ),
    busy AS (FROM covered('with_flop')),
    total AS (
        SELECT
            device_id,
            count(*) AS kernels,
            sum(end_ns - start_ns)::DOUBLE AS kernel_ns
        FROM kernel
        GROUP BY device_id
    ),
    summed AS (
        SELECT
            device_id,
            sum(launches)::BIGINT AS launches,
            (coalesce(sum(launches) FILTER (WHERE flop IS NOT NULL), 0))::BIGINT
                AS measured_kernels,
            sum(kernel_ns) AS all_ns,
            sum(kernel_ns) FILTER (WHERE flop IS NOT NULL) AS measured_ns,
            sum(flop) AS flop
        FROM measured
        GROUP BY device_id
    ),
    clock AS (
        SELECT
            device_id,
            avg(value) AS mean_clock_hz
        FROM counter_sample
        WHERE source = 'gpu' AND metric = 'GPC Clock Frequency' AND unit = 'Hz'
        GROUP BY device_id
    ),
    given AS (
        SELECT
            CASE WHEN $peak_flops > 0 THEN $peak_flops END AS peak,
            CASE WHEN $peak_flops > 0 THEN 'given' END AS derivation
    ),
    joined AS (
        SELECT
            summed.device_id,
            coalesce(total.kernels, summed.launches) AS kernels,
            summed.measured_kernels,
            summed.measured_ns / nullif(coalesce(total.kernel_ns, summed.all_ns), 0)
                AS measured_share,
            summed.flop,
            coalesce(busy.covered_ns, round(summed.measured_ns)::BIGINT)
                AS kernel_busy_ns,
            coalesce(given.peak, peak.fp32) AS peak,
            peak.clock_hz,
            clock.mean_clock_hz,
            coalesce(given.derivation, peak.fp32_derivation) AS derivation,
            device.compute_capability
        FROM summed
        CROSS JOIN given
        LEFT JOIN total ON summed.device_id = total.device_id
        LEFT JOIN busy ON summed.device_id = busy.key
        LEFT JOIN gpu_peak('gpu') AS peak ON summed.device_id = peak.device_id
        LEFT JOIN device ON summed.device_id = device.device_id
        LEFT JOIN clock ON summed.device_id = clock.device_id
    )

SELECT
    device_id,
    kernels,
    measured_kernels,
    CASE WHEN flop IS NOT NULL THEN measured_share END AS measured_share,
    flop AS fp32_flop,
    CASE WHEN flop IS NOT NULL THEN kernel_busy_ns END AS kernel_busy_ns,
    flop * 1e9 / nullif(kernel_busy_ns, 0) AS flops_per_second,
    peak AS peak_fp32_flops,
    flop * 1e9 / nullif(kernel_busy_ns, 0) / peak AS fp32_utilization,
    mean_clock_hz,
    flop * 1e9 / nullif(kernel_busy_ns, 0) / (peak * mean_clock_hz / clock_hz)
        AS fp32_utilization_at_mean_clock,
    derivation AS peak_derivation,
    CASE
        WHEN flop IS NULL
            THEN
                'the counters of FADD, FMUL and FFMA instructions were not measured: '
                || 'tracekit collect --counters does'
        WHEN kernel_busy_ns IS NULL THEN 'the durations of kernels are not recorded'
        ELSE no_peak_reason(peak, compute_capability, clock_hz)
    END AS reason
FROM joined
ORDER BY device_id ASC;
