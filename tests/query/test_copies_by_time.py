"""copies.by_time: durations per kind of copy and of fills."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table

COPIES = {
    "memcpy": """
        device_id, process_id, correlation_id, copy_kind, bytes, start_ns, end_ns
        0,         0,          1,              HtoD,        100,        0,     50
        0,         0,          2,              HtoD,        100,       60,     90
        1,         1,          1,              DtoH,        100,       70,     80
    """,
    "memset": """
        device_id, process_id, correlation_id, memory_kind, bytes, start_ns, end_ns
        0,         0,          3,              device,         10,       10,     16
        0,         0,          4,              NULL,           10,       20,     24
    """,
}


def test_each_kind_has_a_row(query_rows: QueryRows) -> None:
    rows = query_rows("copies.by_time", COPIES)
    assert rows == table("""
        operation,                    count, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        [CUDA memcpy Host-to-Device],     2,       80,        0.8,    40.0,      40.0,     30,     50,    14.142
        [CUDA memcpy Device-to-Host],     1,       10,        0.1,    10.0,      10.0,     10,     10,       0.0
        [CUDA memset],                    2,       10,        0.1,     5.0,       5.0,      4,      6,     1.414
    """)  # noqa: E501 - a table is read across


@pytest.mark.parametrize(
    ("copy_kind", "words"),
    [
        ("HtoA", "Host-to-Array"),
        ("AtoH", "Array-to-Host"),
        ("AtoA", "Array-to-Array"),
        ("AtoD", "Array-to-Device"),
        ("DtoA", "Device-to-Array"),
        ("DtoD", "Device-to-Device"),
        ("HtoH", "Host-to-Host"),
        ("PtoP", "Peer-to-Peer"),
        ("unified_HtoD", "Unified Host-to-Device"),
        ("unified_DtoH", "Unified Device-to-Host"),
        ("unified_DtoD", "Unified Device-to-Device"),
        ("NULL", "Unknown"),
    ],
)
def test_kinds_have_the_words_of_nvidia(
    query_rows: QueryRows, copy_kind: str, words: str
) -> None:
    (row,) = query_rows(
        "copies.by_time",
        memcpy="device_id, process_id, copy_kind, start_ns, end_ns\n"
        f"0, 0, {copy_kind}, 0, 10",
    )
    assert row["operation"] == f"[CUDA memcpy {words}]"


def test_a_window_takes_copies_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("copies.by_time", COPIES, window="10:70")
    assert only(rows, ["operation", "total_ns"]) == table("""
        operation,                    total_ns
        [CUDA memcpy Host-to-Device],       30
        [CUDA memset],                      10
    """)


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    by_device = query_rows("copies.by_time", COPIES, devices=(1,))
    by_process = query_rows("copies.by_time", COPIES, processes=(1,))
    assert [row["operation"] for row in by_device] == ["[CUDA memcpy Device-to-Host]"]
    assert by_process == by_device


def test_a_run_with_fills_alone_has_an_answer(query_rows: QueryRows) -> None:
    rows = query_rows("copies.by_time", memset=COPIES["memset"])
    assert only(rows, ["operation", "count", "time_share"]) == [
        {"operation": "[CUDA memset]", "count": 2, "time_share": 1.0}
    ]


def test_a_run_without_copies_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("copies.by_time") == []
