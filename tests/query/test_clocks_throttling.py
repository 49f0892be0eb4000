"""clocks.throttling: clocks of busy GPUs against their maximum."""

from tests.conftest import QueryRows
from tests.support.tables import table

SAMPLES = """
    device_id, source, time_ns, metric,              unit, value
    0,         gpu,          5, GPC Clock Frequency, MHz,   1000
    0,         gpu,         10, GPC Clock Frequency, MHz,   1980
    0,         gpu,         15, GPC Clock Frequency, MHz,   1500
    0,         gpu,         20, GPC Clock Frequency, MHz,   1000
    0,         gpu,         35, GPC Clock Frequency, Hz,    1890000000
    0,         gpu,         12, SYS Clock Frequency, MHz,    500
    0,         gpu,         12, GR Active,           %,       50
    1,         gpu,         12, GPC Clock Frequency, MHz,   1700
"""
KERNEL = "device_id, process_id, start_ns, end_ns\n0, 0, 10, 20\n0, 0, 30, 40"
DEVICE = "device_id, max_clock_hz\n0, 2000000000"


def test_samples_of_a_busy_gpu_count(query_rows: QueryRows) -> None:
    rows = query_rows(
        "clocks.throttling", counter_sample=SAMPLES, kernel=KERNEL, device=DEVICE
    )
    # Busy at 10, 15 and 35; not at 20, where the kernel has ended.
    assert rows == table("""
        device_id, metric,              samples, busy_samples, throttled, throttled_share, max_clock_hz, busy_mean_hz, busy_min_hz,  busy_max_hz,  mean_share
        0,         GPC Clock Frequency,       5,            3,         2,           0.667,   2000000000, 1790000000.0, 1500000000.0, 1980000000.0,      0.895
        1,         GPC Clock Frequency,       1,            0,      NULL,            NULL,         NULL,         NULL,         NULL,         NULL,       NULL
    """)  # noqa: E501 - a table is read across


def test_the_threshold_says_what_is_throttled(query_rows: QueryRows) -> None:
    rows = query_rows(
        "clocks.throttling",
        parameters={"threshold": 0.9},
        counter_sample=SAMPLES,
        kernel=KERNEL,
        device=DEVICE,
    )
    assert rows[0]["throttled"] == 1


def test_a_window_takes_samples_inside(query_rows: QueryRows) -> None:
    rows = query_rows(
        "clocks.throttling",
        window="12:50",
        counter_sample=SAMPLES,
        kernel=KERNEL,
        device=DEVICE,
    )
    assert [row["samples"] for row in rows] == [3, 1]


def test_a_run_without_samples_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("clocks.throttling", kernel=KERNEL) == []
