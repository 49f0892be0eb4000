"""memory.fragmentation: reserved and not allocated, and what lies beside."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

NAME = "memory.fragmentation"
EVENTS = """
    process_id, device_id, time_ns, kind,     address, bytes, requested_bytes, allocator, total_allocated_bytes, total_reserved_bytes
    0,          0,               1, allocate,    1000,   100,              90, torch,                       100,                  400
    0,          0,               2, allocate,    1300,   100,             100, torch,                       200,                  400
    0,          0,               3, free,        1000,   100,            NULL, torch,                       100,                  600
"""  # noqa: E501 - a table is read across


def test_what_is_free_lies_in_pieces(query_rows: QueryRows) -> None:
    """Of 1000 to 1400, 200 in the middle are free; later a segment of 200 comes."""
    rows = query_rows(
        NAME,
        memory_event=EVENTS,
        memory_segment="""
            process_id, device_id, start_ns, end_ns, address, bytes, allocator
            0,          0,         NULL,     NULL,      1000,   400, torch
            0,          0,         3,        NULL,      2000,   200, torch
        """,
    )
    assert only(rows, list(rows[0])[2:10]) == table("""
        moment,         time_ns, allocated_bytes, reserved_bytes, free_bytes, fragmentation, rounding_bytes, largest_free_bytes
        peak_allocated,       2,             200,            400,        200,           0.5,             10,                200
        end,                  3,             100,            600,        500,         0.833,              0,                300
        peak_reserved,        3,             100,            600,        500,         0.833,              0,                300
    """)  # noqa: E501 - a table is read across


def test_what_lies_beside_is_what_nvml_shows_and_the_allocator_does_not(
    query_rows: QueryRows,
) -> None:
    (peak, *_) = query_rows(
        NAME,
        memory_event=EVENTS,
        run_fact="key, value\nmemory.context_bytes, 250",
        counter_sample="""
            source, device_id, time_ns, metric,      unit, value
            nvml,   0,               1, memory_used, B,      900
            nvml,   0,               3, memory_used, B,     1100
            nvml,   1,               2, memory_used, B,        5
        """,
    )
    assert peak["device_used_bytes"] == 900
    assert peak["outside_bytes"] == 900 - 400
    assert peak["context_bytes"] == 250
    assert peak["largest_free_bytes"] is None


def test_an_allocator_that_reserves_nothing_is_left_out(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, memory_event="kind, bytes, address\nallocate, 5, 1")
    assert rows == []
