"""overlap.copy_compute: overlapped and exposed copies add up."""

from tests.conftest import QueryRows
from tests.support.tables import table

GPU = "process_id, device_id, start_ns, end_ns"
MEMCPY = """
    process_id, device_id, copy_kind, start_ns, end_ns
    0,          0,         HtoD,             0,     30
    0,          0,         HtoD,            20,     40
    0,          0,         DtoH,            35,     60
    0,          1,         HtoD,             0,     10
"""
KERNEL = f"{GPU}\n0, 0, 10, 25\n0, 0, 20, 38\n0, 0, 55, 100"


def test_parts_of_each_kind_and_of_all(query_rows: QueryRows) -> None:
    rows = query_rows("overlap.copy_compute", memcpy=MEMCPY, kernel=KERNEL)
    assert rows == table("""
        device_id, operation,                    copies, copy_ns, overlapped_ns, exposed_ns, overlapped_share, kernel_is_lower_bound
        0,         NULL,                              3,      60,            33,         27,             0.55, false
        0,         [CUDA memcpy Host-to-Device],      2,      40,            28,         12,              0.7, false
        0,         [CUDA memcpy Device-to-Host],      1,      25,             8,         17,             0.32, false
        1,         NULL,                              1,      10,             0,         10,              0.0, false
        1,         [CUDA memcpy Host-to-Device],      1,      10,             0,         10,              0.0, false
    """)  # noqa: E501 - a table is read across


def test_a_window_cuts_copies_and_kernels(query_rows: QueryRows) -> None:
    rows = query_rows(
        "overlap.copy_compute", window="22:57", memcpy=MEMCPY, kernel=KERNEL
    )
    assert (rows[0]["copy_ns"], rows[0]["overlapped_ns"]) == (35, 18)


def test_graphs_are_told(query_rows: QueryRows) -> None:
    rows = query_rows(
        "overlap.copy_compute", memcpy=MEMCPY, graph_launch=f"{GPU}\n0, 0, 0, 100"
    )
    assert [row["kernel_is_lower_bound"] for row in rows] == [True] * 3 + [False] * 2


def test_a_run_without_copies_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("overlap.copy_compute", kernel=KERNEL) == []
