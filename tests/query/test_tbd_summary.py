"""tbd.summary: the paper's metrics, each with its source and window."""

from tests.conftest import QueryRows
from tests.support.counters import DEVICE, counters, fp32
from tests.support.tables import Row

NAME = "tbd.summary"
# Two steps of 1,000 ns, 32 images each; kernels busy 400 + 500 ns of the 2,200 ns from
# the first step to the end of the work of the last one; the first kernel is before it.
STEP = """
    step_index, process_id, name, start_ns, end_ns, samples, unit,   source
    0,          0,          s,        1000,   2000,      32, images, workload
    1,          0,          s,        2000,   3000,      32, images, workload
"""
KERNEL = """
    kernel_id, process_id, device_id, correlation_id, name, start_ns, end_ns
    0,         0,          0,                      1, k,           0,    900
    1,         0,          0,                      2, k,        1100,   1500
    2,         0,          0,                      3, k,        2700,   3200
"""
MEMCPY = """
    process_id, device_id, correlation_id, start_ns, end_ns, bytes
    0,          0,                      4,     1400,   1600,     8
"""
API_CALL = """
    process_id, thread_id, correlation_id, name,             start_ns, end_ns
    0,          0,                      1, cudaLaunchKernel,        0,     10
    0,          0,                      2, cudaLaunchKernel,     1050,   1060
    0,          0,                      3, cudaLaunchKernel,     2990,   2999
"""


def by_metric(rows: list[Row]) -> dict[str, Row]:
    return {row["metric"]: row for row in rows}


def test_metrics_are_over_the_stable_steps(query_rows: QueryRows) -> None:
    found = by_metric(
        query_rows(
            NAME,
            device=DEVICE,
            step=STEP,
            kernel=KERNEL,
            memcpy=MEMCPY,
            api_call=API_CALL,
            kernel_metric=counters(
                *fp32(0, 9e9, 0, 0),
                *fp32(1, 1_024_000, 0, 0),
                *fp32(2, 1_280_000, 0, 0),
                (1, "tf32", 8_192_000),
                (2, "tf32", 1_024_000),
            ),
        )
    )
    assert {row["window_name"] for row in found.values()} == {"stable steps", "run"}
    throughput = found["throughput"]
    assert throughput["value"] == 64 * 1e9 / 2000
    assert (throughput["unit"], throughput["source"]) == ("images/s", "workload")
    assert found["steps_per_second"]["value"] == 1e6
    assert found["kernel_utilization"]["value"] == round(900 / 2200, 3)
    assert found["gpu_utilization"]["value"] == round(1000 / 2200, 3)
    # 2,304,000 FLOP in 900 ns are 2.56e12 a second: the peak.
    assert found["fp32_utilization"]["value"] == 1.0
    # 9,216,000 operations in 900 ns are 1.024e13 a second, half of 2.048e13.
    assert found["tensor_utilization"]["value"] == 0.5


def test_without_steps_all_gpu_activity_counts(query_rows: QueryRows) -> None:
    found = by_metric(query_rows(NAME, kernel=KERNEL))
    assert found["throughput"]["value"] is None
    assert found["throughput"]["reason"] == "no steps are known"
    assert found["kernel_utilization"]["value"] == round(1800 / 3200, 3)
    assert found["kernel_utilization"]["window_name"] == "run"
    for metric in (
        "fp32_utilization",
        "tensor_utilization",
        "cpu_utilization",
        "peak_memory",
        "energy_per_sample",
    ):
        assert found[metric]["value"] is None
        assert found[metric]["reason"]


def test_memory_at_the_peak_adds_up_by_class(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        kernel=KERNEL,
        memory_event="""
            process_id, device_id, time_ns, kind,     address, bytes, allocator, memory_class
            0,          0,               1, free,          90,   700, torch,     NULL
            0,          0,               2, allocate,      10,   100, torch,     weights
            0,          0,               3, allocate,      20,   300, torch,     feature_maps
            0,          0,               4, free,          20,   300, torch,     feature_maps
            0,          0,               5, allocate,      20,   500, torch,     feature_maps
            0,          0,               6, allocate,      30,    40, torch,     NULL
            0,          0,               7, free,          10,   100, torch,     weights
            0,          0,               8, allocate,      50,     1, torch,     weights
        """,  # noqa: E501 - a table is read across
    )
    classes = {
        row["memory_class"]: row["value"]
        for row in rows
        if row["metric"] == "peak_memory_of_class"
    }
    assert classes == {"feature_maps": 500.0, "weights": 100.0, "unknown": 40.0}
    assert by_metric(rows)["peak_memory"]["value"] == sum(classes.values()) == 640.0


def test_cpu_and_energy(query_rows: QueryRows) -> None:
    found = by_metric(
        query_rows(
            NAME,
            step=STEP,
            kernel=KERNEL,
            api_call=API_CALL,
            cpu_slice="""
                cpu, process_id, thread_id, start_ns, end_ns
                0,   0,          0,                0,   1220
                1,   0,          1,             2000,   3000
                1,   9,          9,             1000,   2000
            """,
            run_fact="key, value\ncpu_cores, 4",
            counter_sample="""
                source, device_id, time_ns, metric, unit, value
                nvml,   0,            1500, power,  W,      100
                nvml,   0,            2500, power,  W,      300
                nvml,   0,             500, power,  W,      900
            """,
        )
    )
    assert found["cpu_utilization"]["value"] == round(1220 / (4 * 2200), 3)
    # 200 W x 2,200 ns over 64 images are 6.875e-6 J.
    assert found["energy_per_sample"]["value"] == round(200 * 2.2e-6 / 64, 3)
    assert found["energy_per_sample"]["unit"] == "J"


def test_one_metric_of_power_counts(query_rows: QueryRows) -> None:
    found = by_metric(
        query_rows(
            NAME,
            step=STEP,
            kernel=KERNEL,
            api_call=API_CALL,
            counter_sample="""
                source, device_id, time_ns, metric,              unit, value
                nvml,   0,            1500, module_power,        W,      900
                nvml,   0,            1500, gpu_power,           mW,  200000
                nvml,   0,            1500, power_limit,         W,      700
            """,
        )
    )
    assert found["energy_per_sample"]["value"] == round(200 * 2.2e-6 / 64, 3)


def test_the_run_without_the_profiler(query_rows: QueryRows) -> None:
    fact = "key, value\nbaseline.step_median_ns, 800"
    found = by_metric(query_rows(NAME, step=STEP, kernel=KERNEL, run_fact=fact))
    assert found["profiler_slowdown"]["value"] == 1000 / 800
    # 32 images a step.
    assert found["unprofiled_throughput"]["value"] == 32 / 800e-9
    found = by_metric(query_rows(NAME, step=STEP, kernel=KERNEL))
    for metric in ("profiler_slowdown", "unprofiled_throughput"):
        assert found[metric]["value"] is None
        assert "--baseline" in found[metric]["reason"]


def test_sampled_cpu_time(query_rows: QueryRows) -> None:
    # The window is 1,000 to 3,200: of the samples in it the first is at 1,100 and the
    # last at 3,100, with 3,000 ns of CPU time between: 1.5 cores of 4.
    samples = """
        source, instance,     time_ns, metric,   unit, value
        cpu,    process tree,     500, CPU time, s,    1.000000000
        cpu,    process tree,    1100, CPU time, s,    1.000001000
        cpu,    process tree,    2000, CPU time, s,    1.000003500
        cpu,    process tree,    3100, CPU time, s,    1.000004000
        cpu,    process tree,    3300, CPU time, s,    9
        cpu,    system,          1100, CPU time, s,    5
        cpu,    system,          3100, CPU time, s,    9
    """
    cores = "key, value\ncpu_cores, 4"

    def cpu(counter_sample: str) -> Row:
        rows = query_rows(
            NAME,
            step=STEP,
            kernel=KERNEL,
            api_call=API_CALL,
            run_fact=cores,
            counter_sample=counter_sample,
        )
        return by_metric(rows)["cpu_utilization"]

    row = cpu(samples)
    assert (row["value"], row["source"]) == (0.375, "sampled CPU time")
    row = cpu("\n".join(samples.splitlines()[:4]))
    assert row["value"] is None
    assert "two are needed" in row["reason"]


def test_an_empty_run_has_no_numbers(query_rows: QueryRows) -> None:
    assert {row["value"] for row in query_rows(NAME)} == {None}
