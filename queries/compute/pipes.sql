-- compute.pipes: what each kind of arithmetic unit did, side by side, by counters.
--
-- A row for each GPU and pipe: FP32, FP16 and FP64 instructions (ADD + MUL + 2 FMA),
-- and tensor cores by the type that they multiply (2 a multiply-add). A kernel can keep
-- the FP32 units idle while tensor cores work, so no row stands for a GPU alone.
-- Utilization is operations over the peak of that pipe in the time in which a kernel
-- with that counter ran. A pipe whose counter was not measured has NULL and the reason,
-- one that did nothing has 0. Kernels count whole if they start in the window.
--
-- reads:
--   kernel          rows
--   kernel_counter  lookup
--   device          lookup
-- needs:
--   kernel_metric
-- columns:
--   device_id         INTEGER  The device, as in the device table.
--   pipe              VARCHAR  fp32, fp16, fp64, or tensor_ and fp16, bf16, tf32, fp64,
--                              int8 or fp8.
--   measured_kernels  BIGINT   Kernels with that counter.
--   active_kernels    BIGINT   Those that used the pipe.
--   operations        DOUBLE   Operations: FLOP, or integer operations of int8.
--   active_share      DOUBLE   Summed durations of kernels that used the pipe over
--                              those of all that were measured, 0 to 1.
--   kernel_busy_ns    BIGINT   Time in which a measured kernel ran.
--   operations_per_second  DOUBLE  operations over that time.
--   peak              DOUBLE   Peak of the pipe in operations a second.
--   utilization       DOUBLE   operations_per_second over the peak, 0 to 1.
--   reason            VARCHAR  Why there is no utilization.

WITH
    gpu AS NOT MATERIALIZED (FROM device),
    ran AS NOT MATERIALIZED (FROM kernel),
    every AS NOT MATERIALIZED (FROM recorded.kernel),
    counter AS NOT MATERIALIZED (FROM kernel_counter),
    parted AS (
        SELECT
            device_id,
            start_ns,
            end_ns,
            kernel_ns * launches AS kernel_ns,
            launches,
            unnest([
                { 'pipe': 'fp32', 'place': 1, 'ops': fp32_flop },
                { 'pipe': 'fp16', 'place': 2, 'ops': fp16_flop },
                { 'pipe': 'fp64', 'place': 3, 'ops': fp64_flop },
                { 'pipe': 'tensor_fp16', 'place': 4, 'ops': tensor_fp16_ops },
                { 'pipe': 'tensor_bf16', 'place': 5, 'ops': tensor_bf16_ops },
                { 'pipe': 'tensor_tf32', 'place': 6, 'ops': tensor_tf32_ops },
                { 'pipe': 'tensor_fp64', 'place': 7, 'ops': tensor_fp64_ops },
                { 'pipe': 'tensor_int8', 'place': 8, 'ops': tensor_int8_ops },
                { 'pipe': 'tensor_fp8', 'place': 9, 'ops': tensor_fp8_ops }
            ]) AS part
        FROM measured_kernel('counter', 'ran', 'every')
    ),
    measured AS (
        SELECT
            device_id,
            start_ns,
            end_ns,
            kernel_ns,
            launches,
            part['pipe'] AS pipe,
            part['place'] AS place,
            part['ops'] AS ops
        FROM parted
    ),
    pipe_of_gpu AS (
        SELECT DISTINCT
            device_id,
            pipe,
            place
        FROM measured
    ),
    place AS (
        SELECT
            device_id,
            pipe,
            place,
            row_number() OVER (ORDER BY device_id, place) AS key
        FROM pipe_of_gpu
    ),
    with_ops AS (
        SELECT
            place.key,
            measured.start_ns,
            measured.end_ns
        FROM measured
        INNER JOIN place
            ON
                measured.device_id IS NOT DISTINCT FROM place.device_id
                AND measured.pipe = place.pipe
        WHERE measured.ops IS NOT NULL AND measured.start_ns IS NOT NULL
    ),
    busy AS (FROM covered('with_ops')),
    summed AS (
        SELECT
            device_id,
            pipe,
            coalesce(sum(launches) FILTER (WHERE ops IS NOT NULL), 0)::BIGINT
                AS measured_kernels,
            (sum(launches) FILTER (WHERE ops > 0))::BIGINT AS active_kernels,
            sum(ops * launches) AS operations,
            sum(kernel_ns) FILTER (WHERE ops > 0) AS active_ns,
            sum(kernel_ns) FILTER (WHERE ops IS NOT NULL) AS measured_ns
        FROM measured
        GROUP BY device_id, pipe
    ),
    pipe_peak AS (
        UNPIVOT (
            SELECT
                device_id,
                fp32,
                fp16,
                fp64,
                tensor_fp16,
                tensor_bf16,
                tensor_tf32,
                tensor_fp64,
                tensor_int8,
                tensor_fp8
            FROM gpu_peak('gpu')
        ) ON
        fp32, fp16, fp64, tensor_fp16, tensor_bf16, tensor_tf32, tensor_fp64,
        tensor_int8, tensor_fp8
        INTO NAME pipe VALUE peak
    ),
    joined AS (
        SELECT
            place.device_id,
            place.pipe,
            place.place,
            summed.measured_kernels,
            summed.active_kernels,
            summed.operations,
            summed.active_ns,
            summed.measured_ns,
            coalesce(busy.covered_ns, round(summed.measured_ns)::BIGINT)
                AS kernel_busy_ns,
            pipe_peak.peak
        FROM place
        INNER JOIN summed
            ON
                place.device_id IS NOT DISTINCT FROM summed.device_id
                AND place.pipe = summed.pipe
        LEFT JOIN busy ON place.key = busy.key
        LEFT JOIN pipe_peak
            ON place.device_id = pipe_peak.device_id AND place.pipe = pipe_peak.pipe
    )

SELECT
    device_id,
    pipe,
    measured_kernels,
    CASE WHEN measured_kernels > 0 THEN coalesce(active_kernels, 0) END
        AS active_kernels,
    operations,
    CASE
        WHEN measured_kernels > 0 THEN coalesce(active_ns, 0) / nullif(measured_ns, 0)
    END AS active_share,
    kernel_busy_ns,
    operations * 1e9 / nullif(kernel_busy_ns, 0) AS operations_per_second,
    peak,
    operations * 1e9 / nullif(kernel_busy_ns, 0) / peak AS utilization,
    CASE
        WHEN measured_kernels = 0 THEN 'its counter was not measured'
        WHEN kernel_busy_ns IS NULL THEN 'the durations of kernels are not recorded'
        WHEN peak IS NULL THEN 'no peak of this pipe is known for this GPU'
    END AS reason
FROM joined
ORDER BY device_id ASC, place ASC;
