"""kernels.by_device: sums and statistics per device and name."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

KERNELS = """
    device_id, process_id, name,  canonical_name, short_name, start_ns, end_ns
    0,         0,          gemm1, gemm<1>,        gemm,             10,    100
    0,         0,          relu,  relu<1>,        relu,            110,    120
    0,         0,          gemm1, gemm<1>,        gemm,            130,    200
    1,         1,          gemm1, gemm<1>,        gemm,             20,     40
    1,         1,          gemm2, gemm<2>,        gemm,             40,    100
"""


def test_shares_are_within_the_device(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.by_device", kernel=KERNELS)
    assert rows == table("""
        device_id, kernel_name, launches, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        0,         gemm1,              2,      160,      0.941,    80.0,      80.0,     70,     90,    14.142
        0,         relu,               1,       10,      0.059,    10.0,      10.0,     10,     10,       0.0
        1,         gemm2,              1,       60,       0.75,    60.0,      60.0,     60,     60,       0.0
        1,         gemm1,              1,       20,       0.25,    20.0,      20.0,     20,     20,       0.0
    """)  # noqa: E501 - a table is read across


def test_the_limit_is_for_each_device(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.by_device", parameters={"limit": 1}, kernel=KERNELS)
    assert only(rows, ["device_id", "kernel_name", "time_share"]) == table("""
        device_id, kernel_name, time_share
        0,         gemm1,            0.941
        1,         gemm2,             0.75
    """)


def test_limit_0_is_no_limit(query_rows: QueryRows) -> None:
    kernel = "device_id, process_id, name, start_ns, end_ns\n"
    kernel += "\n".join(f"0, 0, k{n}, {n}, {n + 1}" for n in range(30))
    assert len(query_rows("kernels.by_device", kernel=kernel)) == 20
    rows = query_rows("kernels.by_device", parameters={"limit": 0}, kernel=kernel)
    assert len(rows) == 30


def test_short_names_take_kinds_together(query_rows: QueryRows) -> None:
    rows = query_rows(
        "kernels.by_device", parameters={"names": "short"}, kernel=KERNELS
    )
    assert only(rows, ["device_id", "kernel_name", "total_ns"]) == table("""
        device_id, kernel_name, total_ns
        0,         gemm,             160
        0,         relu,              10
        1,         gemm,              80
    """)


def test_canonical_names_tell_kinds_apart(query_rows: QueryRows) -> None:
    rows = query_rows(
        "kernels.by_device",
        parameters={"names": "canonical"},
        devices=(1,),
        kernel=KERNELS,
    )
    assert [row["kernel_name"] for row in rows] == ["gemm<2>", "gemm<1>"]


def test_a_window_takes_kernels_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.by_device", window="20:120", kernel=KERNELS)
    assert only(rows, ["device_id", "kernel_name", "total_ns"]) == table("""
        device_id, kernel_name, total_ns
        0,         relu,              10
        1,         gemm2,             60
        1,         gemm1,             20
    """)


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    by_device = query_rows("kernels.by_device", devices=(1,), kernel=KERNELS)
    by_process = query_rows("kernels.by_device", processes=(1,), kernel=KERNELS)
    assert [row["total_ns"] for row in by_device] == [60, 20]
    assert by_process == by_device


def test_a_run_without_kernels_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("kernels.by_device") == []
