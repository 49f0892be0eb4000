"""A GPU with round numbers, and kernels with counters, as small tables of text.

The GPU: 2 x 128 lanes x 10 SMs x 1 GHz = 2.56e12 FP32 FLOP/s, TF32 on tensor cores
2048 x 10 x 1e9 = 2.048e13.
"""

DEVICE = """
    device_id, compute_capability, sm_count, max_clock_hz, peak_fp32_flops, memory_bandwidth
    0,         9.0,                      10,   1000000000,   2560000000000,    1000000000000
"""  # noqa: E501 - a table is read across

KERNEL = """
    kernel_id, device_id, name, start_ns, end_ns
    0,         0,         gemm,        0,   1000
    1,         0,         relu,      500,   1500
    2,         0,         gemm,     2000,   3000
"""

_NAMES = {
    "fadd": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "fmul": "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "fadd2": "smsp__sass_thread_inst_executed_op_fadd2_pred_on.sum",
    "fmul2": "smsp__sass_thread_inst_executed_op_fmul2_pred_on.sum",
    "ffma2": "smsp__sass_thread_inst_executed_op_ffma2_pred_on.sum",
    "tf32": "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
    "bytes": "dram__bytes.sum",
    "time": "gpu__time_duration.sum",
    "tensor_active": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
}


def counters(*rows: tuple[int, str, float]) -> str:
    """Return `kernel_metric` rows of (kernel, counter, value), matched to kernels."""
    lines = ["kernel_id, launch_index, device_id, tool, kernel_name, metric, value"]
    for kernel, counter, value in rows:
        metric = _NAMES.get(counter, counter)
        lines.append(f"{kernel}, {kernel}, 0, ncu, k{kernel}, {metric}, {value}")
    return "\n".join(lines)


def fp32(
    kernel: int, fadd: float, fmul: float, ffma: float
) -> list[tuple[int, str, float]]:
    """Return the FP32 counters of a kernel."""
    return [(kernel, "fadd", fadd), (kernel, "fmul", fmul), (kernel, "ffma", ffma)]


# gemm: 100 + 200 + 2 x 350000 = 700,300; relu: 1,000; the second gemm: 700,300.
MEASURED = counters(
    *fp32(0, 100, 200, 350_000),
    *fp32(1, 1_000, 0, 0),
    *fp32(2, 100, 200, 350_000),
    (0, "tf32", 2_048_000),
    (1, "tf32", 0),
    (2, "tf32", 2_048_000),
    (0, "bytes", 400_000),
    (1, "bytes", 800_000),
    (2, "bytes", 400_000),
)

UNMATCHED = MEASURED.replace("kernel_id, launch", "grid_z, launch")
