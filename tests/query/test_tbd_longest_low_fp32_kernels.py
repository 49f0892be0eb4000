"""tbd.longest_low_fp32_kernels: TBD's tables 5 and 6."""

from tests.conftest import QueryRows
from tests.support.counters import DEVICE, counters, fp32
from tests.support.tables import table

NAME = "tbd.longest_low_fp32_kernels"
# Peak 2.56e12: 2,560 FLOP a ns.
KERNEL = """
    kernel_id, device_id, name, start_ns, end_ns
    0,         0,         gemm,        0,   1000
    1,         0,         norm,     1000,   4000
    2,         0,         relu,     4000,   6000
    3,         0,         gemm,     6000,   7000
    4,         0,         rest,     7000,   9000
"""
# gemm half of the peak, norm 1/30, relu 0; the last was not measured. All: 2,816,000
# FLOP in 7,000 ns are 402.29 a ns, 0.157 of the peak.
COUNTERS = counters(
    *fp32(0, 1_280_000, 0, 0),
    *fp32(1, 56_000, 0, 100_000),
    *fp32(2, 0, 0, 0),
    *fp32(3, 1_280_000, 0, 0),
    (1, "tf32", 7),
)


def test_long_kernels_below_the_weighted_average(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, device=DEVICE, kernel=KERNEL, kernel_metric=COUNTERS)
    assert rows == table("""
        device_id, kernel_name, launches, total_ns, time_share, fp32_utilization, average_utilization, tensor_operations
        0,         norm,               1,   3000.0,      0.429,            0.033,               0.157,               7.0
        0,         relu,               1,   2000.0,      0.286,              0.0,               0.157,              NULL
    """)  # noqa: E501 - a table is read across


def test_the_longest_come_first_and_the_limit_cuts(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=COUNTERS,
        parameters={"limit": 1},
    )
    assert [row["kernel_name"] for row in rows] == ["norm"]


def test_without_a_peak_the_order_is_the_same(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, kernel=KERNEL, kernel_metric=COUNTERS)
    assert [(row["kernel_name"], row["fp32_utilization"]) for row in rows] == [
        ("norm", None),
        ("relu", None),
    ]


def test_without_fp32_counters_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows(NAME, kernel=KERNEL, kernel_metric=counters((0, "tf32", 1))) == []
