"""overlap.comm_compute: overlapped and exposed communication add up."""

from tests.conftest import QueryRows
from tests.support.tables import table

KERNEL = """
    process_id, device_id, name,                             start_ns, end_ns
    0,          0,         ncclDevKernel_AllReduce_Sum_f32,        10,     40
    0,          0,         ncclKernel_Broadcast,                   30,     50
    0,          0,         gemm,                                    0,     15
    0,          0,         gemm,                                   45,     70
    0,          1,         gemm,                                    0,     10
    0,          2,         rcclGenericKernel,                       5,      8
"""


def test_what_other_kernels_do_not_hide_is_exposed(query_rows: QueryRows) -> None:
    assert query_rows("overlap.comm_compute", kernel=KERNEL) == table("""
        device_id, kernels, communication_ns, overlapped_ns, exposed_ns, compute_ns, overlapped_share, kernel_is_lower_bound
        0,               2,               40,            10,         30,         40,             0.25, false
        1,               0,                0,             0,          0,         10,             NULL, false
        2,               1,                3,             0,          3,          0,              0.0, false
    """)  # noqa: E501 - a table is read across


def test_a_window_cuts_intervals(query_rows: QueryRows) -> None:
    row = query_rows("overlap.comm_compute", window="12:48", kernel=KERNEL)[0]
    assert (row["communication_ns"], row["overlapped_ns"], row["compute_ns"]) == (
        36,
        6,
        6,
    )


def test_only_the_devices_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows("overlap.comm_compute", devices=(2,), kernel=KERNEL)
    assert [row["device_id"] for row in rows] == [2]


def test_a_run_without_kernels_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("overlap.comm_compute") == []
