"""memory.timeline: classes over time, at the fullest moment of each part."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

NAME = "memory.timeline"
EVENTS = """
    process_id, device_id, time_ns, kind,     address, bytes, allocator, memory_class
    0,          0,               0, allocate,      10,   100, torch,     weights
    0,          0,              12, allocate,      20,    30, torch,     feature_maps
    0,          0,              14, free,          20,    30, torch,     NULL
    0,          0,              35, allocate,      20,     5, torch,     input
    0,          0,              39, free,          10,   100, torch,     NULL
"""


def test_each_part_shows_its_fullest_moment(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, parameters={"bins": 4}, memory_event=EVENTS)
    names = ["bin", "start_ns", "end_ns", "memory_class", "bytes", "total_bytes"]
    assert only(rows, names) == table("""
        bin, start_ns, end_ns, memory_class, bytes, total_bytes
        0,          0,     10, feature_maps,     0,         100
        0,          0,     10, input,            0,         100
        0,          0,     10, weights,        100,         100
        1,         10,     20, feature_maps,    30,         130
        1,         10,     20, input,            0,         130
        1,         10,     20, weights,        100,         130
        2,         20,     30, feature_maps,     0,         100
        2,         20,     30, input,            0,         100
        2,         20,     30, weights,        100,         100
        3,         30,     40, feature_maps,     0,         105
        3,         30,     40, input,            5,         105
        3,         30,     40, weights,        100,         105
    """)


def test_the_parts_have_the_peak(query_rows: QueryRows) -> None:
    peak = query_rows("memory.breakdown", memory_event=EVENTS)[0]["peak_bytes"]
    for bins in (1, 3, 50):
        rows = query_rows(NAME, parameters={"bins": bins}, memory_event=EVENTS)
        assert max(row["total_bytes"] for row in rows) == peak == 130
        for bin_ in {row["bin"] for row in rows}:
            part = [row for row in rows if row["bin"] == bin_]
            assert sum(row["bytes"] for row in part) == part[0]["total_bytes"]


def test_without_times_there_is_no_timeline(query_rows: QueryRows) -> None:
    assert query_rows(NAME, memory_event="kind, bytes\nheld, 5") == []
