"""copies.by_size: bytes per kind of copy and of fills."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

COPIES = {
    "memcpy": """
        device_id, process_id, copy_kind, bytes, start_ns, end_ns
        0,         0,          HtoD,       1000,        0,     50
        0,         0,          HtoD,       3000,       60,     90
        0,         0,          HtoD,       3500,       95,     96
        1,         1,          DtoH,        100,       70,     80
    """,
    "memset": """
        device_id, process_id, memory_kind, bytes, start_ns, end_ns
        0,         0,          device,       4096,       10,     16
    """,
}


def test_each_kind_has_a_row(query_rows: QueryRows) -> None:
    rows = query_rows("copies.by_size", COPIES)
    assert rows == table("""
        operation,                    count, total_bytes, mean_bytes, median_bytes, min_bytes, max_bytes, stddev_bytes
        [CUDA memcpy Host-to-Device],     3,        7500,     2500.0,       3000.0,      1000,      3500,     1322.876
        [CUDA memset],                    1,        4096,     4096.0,       4096.0,      4096,      4096,          0.0
        [CUDA memcpy Device-to-Host],     1,         100,      100.0,        100.0,       100,       100,          0.0
    """)  # noqa: E501 - a table is read across


def test_a_size_that_was_not_recorded_is_null(query_rows: QueryRows) -> None:
    rows = query_rows(
        "copies.by_size",
        memcpy="device_id, process_id, copy_kind, start_ns, end_ns\n0, 0, HtoD, 0, 1",
    )
    assert rows == table("""
        operation,                    count, total_bytes, mean_bytes, median_bytes, min_bytes, max_bytes, stddev_bytes
        [CUDA memcpy Host-to-Device],     1,            ,           ,             ,          ,          ,
    """)  # noqa: E501 - a table is read across


def test_a_window_takes_copies_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("copies.by_size", COPIES, window="10:70")
    assert only(rows, ["operation", "total_bytes"]) == table("""
        operation,                    total_bytes
        [CUDA memset],                       4096
        [CUDA memcpy Host-to-Device],        3000
    """)


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    by_device = query_rows("copies.by_size", COPIES, devices=(1,))
    by_process = query_rows("copies.by_size", COPIES, processes=(1,))
    assert [row["total_bytes"] for row in by_device] == [100]
    assert by_process == by_device


def test_a_run_without_copies_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("copies.by_size") == []
