"""tbd.longest_high_fp32_kernels: the other half of TBD's tables 5 and 6."""

from tests.conftest import QueryRows
from tests.query.test_tbd_longest_low_fp32_kernels import COUNTERS, KERNEL
from tests.support.counters import DEVICE, counters, fp32
from tests.support.tables import table

NAME = "tbd.longest_high_fp32_kernels"


def test_long_kernels_above_the_weighted_average(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, device=DEVICE, kernel=KERNEL, kernel_metric=COUNTERS)
    assert rows == table("""
        device_id, kernel_name, launches, total_ns, time_share, fp32_utilization, average_utilization, tensor_operations
        0,         gemm,               2,   2000.0,      0.286,              0.5,               0.157,              NULL
    """)  # noqa: E501 - a table is read across


def test_a_kernel_alone_is_the_average(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, kernel=KERNEL, kernel_metric=counters(*fp32(0, 1, 0, 0)))
    assert [row["kernel_name"] for row in rows] == ["gemm"]
