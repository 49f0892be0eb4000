"""memory.largest: blocks, how long they lived, and where they came from."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

EVENTS = """
    process_id, device_id, time_ns, kind,     address, bytes, allocator, call_stack_id
    0,          0,               1, held,          10,    70, torch,     NULL
    0,          0,               1, allocate,      20,   300, torch,     1
    0,          0,               5, free,          20,   300, torch,     NULL
    0,          0,               6, allocate,      20,   200, torch,     NULL
    0,          0,               9, free,          10,    70, torch,     NULL
"""


def test_blocks_are_told_apart_at_one_address(query_rows: QueryRows) -> None:
    rows = query_rows("memory.largest", memory_event=EVENTS)
    names = ["bytes", "start_ns", "end_ns", "lifetime_ns", "at_peak"]
    expected = table("""
        bytes, start_ns, end_ns, lifetime_ns
        300,          1,      5,           4
        200,          6,   NULL,        NULL
        70,        NULL,      9,        NULL
    """)
    peaks = [True, False, True]
    assert only(rows, names) == [
        {**row, "at_peak": peak} for row, peak in zip(expected, peaks, strict=True)
    ]


def test_the_stack_begins_above_the_allocator(query_rows: QueryRows) -> None:
    (first, *_) = query_rows(
        "memory.largest",
        parameters={"frames": 2},
        memory_event=EVENTS,
        call_stack="""
            call_stack_id, depth, symbol,                                  file,    line
            1,             0,     c10::cuda::CUDACachingAllocator::malloc, NULL,    NULL
            1,             1,     at::add,                                 NULL,    NULL
            1,             2,     forward,                                 /a/m.py, 7
            1,             3,     main,                                    /a/m.py, 9
        """,
    )
    assert first["stack"] == "at::add < forward (m.py:7)"


def test_limit_zero_is_all(query_rows: QueryRows) -> None:
    for limit, count in ((0, 3), (2, 2)):
        rows = query_rows(
            "memory.largest", parameters={"limit": limit}, memory_event=EVENTS
        )
        assert len(rows) == count
