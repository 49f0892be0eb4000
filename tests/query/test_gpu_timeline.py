"""gpu.timeline: busy time in equal parts of the window."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table

GPU = "process_id, device_id, start_ns, end_ns"


def test_work_is_parted_at_the_edges(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.timeline",
        parameters={"bins": 4},
        kernel=f"{GPU}\n0, 0, 0, 30\n0, 0, 20, 35\n0, 0, 90, 100",
        memcpy=f"{GPU}\n0, 0, 30, 60",
    )
    assert rows == table("""
        device_id, bin, start_ns, end_ns, kernel_busy_ns, gpu_busy_ns, kernel_utilization, gpu_utilization
        0,           0,        0,     25,             25,          25,                1.0,             1.0
        0,           1,       25,     50,             10,          25,                0.4,             1.0
        0,           2,       50,     75,              0,          10,                0.0,             0.4
        0,           3,       75,    100,             10,          10,                0.4,             0.4
    """)  # noqa: E501 - a table is read across


def test_edges_are_rounded_down(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.timeline", parameters={"bins": 3}, kernel=f"{GPU}\n0, 0, 5, 15"
    )
    assert only(rows, ["start_ns", "end_ns"]) == table("""
        start_ns, end_ns
        5,             8
        8,            11
        11,           15
    """)


def test_bins_shorter_than_a_nanosecond_are_joined(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.timeline", parameters={"bins": 10}, kernel=f"{GPU}\n0, 0, 0, 3"
    )
    assert [row["kernel_busy_ns"] for row in rows] == [1, 1, 1]


@pytest.mark.parametrize("bins", [1, 7, 50])
@pytest.mark.parametrize("window", [None, "run", "12:61"])
def test_bins_add_up_to_the_busy_time(
    query_rows: QueryRows, bins: int, window: str | None
) -> None:
    tables = {
        "kernel": f"{GPU}\n0, 0, 3, 30\n0, 0, 20, 35\n0, 1, 40, 90\n0, 0, 80, 81",
        "memset": f"{GPU}\n0, 0, 33, 50\n0, 1, 95, 97",
    }
    rows = query_rows("gpu.timeline", tables, window=window, parameters={"bins": bins})
    for total in query_rows("gpu.utilization", tables, window=window):
        mine = [row for row in rows if row["device_id"] == total["device_id"]]
        for name in ("kernel_busy_ns", "gpu_busy_ns"):
            assert sum(row[name] for row in mine) == total[name]
        assert mine[-1]["end_ns"] - mine[0]["start_ns"] == total["window_ns"]


def test_a_run_without_gpu_work_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("gpu.timeline") == []
