"""kernels.by_shape: sums and statistics per name, grid and block."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

KERNELS = """
    device_id, process_id, name,  canonical_name, short_name, grid_x, grid_y, grid_z, block_x, block_y, block_z, start_ns, end_ns
    0,         0,          gemm1, gemm<1>,        gemm,            8,      1,      1,     128,       1,       1,       10,    100
    0,         0,          gemm1, gemm<1>,        gemm,            8,      1,      1,     128,       1,       1,      110,    120
    0,         0,          gemm1, gemm<1>,        gemm,            8,      1,      1,      64,       2,       1,      130,    150
    1,         1,          gemm2, gemm<2>,        gemm,            8,      1,      1,     128,       1,       1,      130,    210
"""  # noqa: E501 - a table is read across


def test_each_shape_of_a_kernel_has_a_row(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.by_shape", kernel=KERNELS)
    assert rows == table("""
        kernel_name, grid_x, grid_y, grid_z, block_x, block_y, block_z, launches, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        gemm1,            8,      1,      1,     128,       1,       1,        2,      100,        0.5,    50.0,      50.0,     10,     90,    56.569
        gemm2,            8,      1,      1,     128,       1,       1,        1,       80,        0.4,    80.0,      80.0,     80,     80,       0.0
        gemm1,            8,      1,      1,      64,       2,       1,        1,       20,        0.1,    20.0,      20.0,     20,     20,       0.0
    """)  # noqa: E501 - a table is read across


def test_each_dimension_tells_shapes_apart(query_rows: QueryRows) -> None:
    columns = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
    shapes = [[1] * 6] + [[1 + (i == j) for j in range(6)] for i in range(6)]
    kernel = "device_id, process_id, name, start_ns, end_ns, " + ", ".join(columns)
    for place, shape in enumerate(shapes):
        kernel += f"\n0, 0, k, {place}, {place + 1}, {', '.join(map(str, shape))}"
    rows = query_rows("kernels.by_shape", kernel=kernel)
    assert [[row[name] for name in columns] for row in rows] == sorted(shapes)


def test_short_names_take_kinds_together(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.by_shape", parameters={"names": "short"}, kernel=KERNELS)
    assert only(rows, ["kernel_name", "block_x", "launches", "total_ns"]) == table("""
        kernel_name, block_x, launches, total_ns
        gemm,            128,        3,      180
        gemm,             64,        1,       20
    """)


def test_canonical_names_tell_kinds_apart(query_rows: QueryRows) -> None:
    rows = query_rows(
        "kernels.by_shape", parameters={"names": "canonical"}, kernel=KERNELS
    )
    names = [row["kernel_name"] for row in rows]
    assert names == ["gemm<1>", "gemm<2>", "gemm<1>"]


def test_shares_are_of_all_kernels_whatever_the_limit(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.by_shape", parameters={"limit": 1}, kernel=KERNELS)
    assert [row["time_share"] for row in rows] == [0.5]


def test_a_shape_that_was_not_recorded_is_null(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "kernels.by_shape",
        kernel="device_id, process_id, name, start_ns, end_ns\n0, 0, k, 0, 10",
    )
    assert (row["grid_x"], row["block_z"], row["total_ns"]) == (None, None, 10)


def test_a_window_takes_kernels_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.by_shape", window="100:130", kernel=KERNELS)
    assert only(rows, ["kernel_name", "total_ns"]) == table("""
        kernel_name, total_ns
        gemm1,             10
    """)


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    by_device = query_rows("kernels.by_shape", devices=(1,), kernel=KERNELS)
    by_process = query_rows("kernels.by_shape", processes=(1,), kernel=KERNELS)
    assert [row["kernel_name"] for row in by_device] == ["gemm2"]
    assert by_process == by_device


def test_a_run_without_kernels_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("kernels.by_shape") == []
