"""gpu.utilization: unions, windows, devices."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import table

COLUMNS = "device_id, process_id, stream_id, start_ns, end_ns"


def kernels(*rows: str) -> str:
    return "\n".join((COLUMNS, *rows))


def test_overlapping_kernels_count_once(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.utilization",
        kernel=kernels("0, 0, 7, 0, 60", "0, 0, 8, 40, 80", "0, 0, 7, 90, 100"),
    )
    assert rows == table("""
        device_id, window_ns, kernel_busy_ns, gpu_busy_ns, kernel_utilization, gpu_utilization, kernel_is_lower_bound
        0,         100,       90,             90,          0.9,                0.9,             false
    """)  # noqa: E501 - a table is read across


@pytest.mark.parametrize(
    ("rows", "busy_ns"),
    [
        (("0, 0, 7, 0, 10", "0, 0, 7, 10, 20"), 20),  # touching
        (("0, 0, 7, 0, 20", "0, 0, 8, 5, 10"), 20),  # nested
        (("0, 0, 7, 0, 20", "0, 0, 8, 0, 20"), 20),  # identical
        (("0, 0, 7, 0, 20", "0, 0, 8, 20, 20"), 20),  # zero length
        (("0, 0, 7, 0, 100", "0, 0, 8, 10, 20", "0, 0, 8, 30, 110"), 110),  # long
        (("0, 0, 7, 5, 10", "0, 0, 8, 0, 6"), 10),  # not in order of start
    ],
)
def test_busy_time_is_the_length_of_a_union(
    query_rows: QueryRows, rows: tuple[str, ...], busy_ns: int
) -> None:
    (row,) = query_rows("gpu.utilization", kernel=kernels(*rows))
    assert row["kernel_busy_ns"] == row["gpu_busy_ns"] == busy_ns


def test_copies_fills_and_graphs_are_work_of_the_gpu(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "gpu.utilization",
        kernel=kernels("0, 0, 7, 0, 10"),
        memcpy=kernels("0, 0, 7, 5, 20"),
        memset=kernels("0, 0, 7, 30, 40"),
        graph_launch=kernels("0, 0, 7, 90, 100"),
    )
    assert row["kernel_busy_ns"] == 10
    assert row["gpu_busy_ns"] == 40
    assert row["window_ns"] == 100
    assert row["kernel_is_lower_bound"] is True


def test_devices_have_windows_of_their_own(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.utilization",
        kernel=kernels("0, 0, 7, 0, 10", "1, 0, 7, 50, 70", "1, 0, 7, 80, 90"),
    )
    assert [(row["window_ns"], row["gpu_busy_ns"]) for row in rows] == [
        (10, 10),
        (40, 30),
    ]


def test_a_window_cuts_intervals(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "gpu.utilization",
        window="50:150",
        kernel=kernels("0, 0, 7, 0, 60", "0, 0, 7, 100, 200"),
    )
    assert row["window_ns"] == 100
    assert row["kernel_busy_ns"] == 60


def test_the_run_window_is_common_to_all_devices(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.utilization",
        window="run",
        kernel=kernels("0, 0, 7, 0, 10", "1, 0, 7, 50, 100"),
    )
    assert [row["window_ns"] for row in rows] == [100, 100]


def test_ranges_that_overlap_make_one_window(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "gpu.utilization",
        window="range:step",
        kernel=kernels("0, 0, 7, 0, 100"),
        annotation="""
            process_id, thread_id, kind,     text, start_ns, end_ns
            0,          0,         push_pop, step,       10,     30
            0,          0,         push_pop, step,       20,     50
            0,          0,         push_pop, step,       90,    120
            1,          0,         push_pop, step,        0,     90
        """,
    )
    assert row["window_ns"] == 40 + 30
    assert row["kernel_busy_ns"] == 40 + 10


def test_only_the_devices_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.utilization",
        devices=(1,),
        kernel=kernels("0, 0, 7, 0, 10", "1, 0, 7, 50, 70"),
    )
    assert [row["device_id"] for row in rows] == [1]


def test_only_the_processes_asked_for(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "gpu.utilization",
        processes=(1,),
        kernel=kernels("0, 0, 7, 0, 10", "0, 1, 7, 50, 70"),
    )
    assert (row["window_ns"], row["kernel_busy_ns"]) == (20, 20)


def test_a_run_without_gpu_work_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("gpu.utilization") == []


@pytest.mark.parametrize("window", ["40:", ":5"])
def test_a_device_without_work_on_that_side_has_an_empty_window(
    query_rows: QueryRows, window: str
) -> None:
    rows = query_rows(
        "gpu.utilization",
        window=window,
        kernel=kernels("0, 0, 7, 10, 20", "1, 0, 7, 0, 60"),
    )
    assert [row["window_ns"] for row in rows] == [0, 20 if window == "40:" else 5]
    assert (rows[0]["gpu_busy_ns"], rows[0]["gpu_utilization"]) == (0, None)
    assert rows[1]["gpu_utilization"] == 1.0
