"""annotations.trace: ranges and marks, each with the range around it."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table
from tracekit.errors import QueryError

RANGES = """
    annotation_id, process_id, thread_id, end_thread_id, kind,      domain, text,  start_ns, end_ns
    0,             0,          0,         NULL,          push_pop,  NULL,   step,         0,    100
    1,             0,          0,         1,             start_end, NULL,   cross,        5,     40
    2,             0,          0,         NULL,          push_pop,  NULL,   load,        10,     30
    3,             0,          0,         NULL,          mark,      NULL,   here,        12,   NULL
    4,             0,          0,         NULL,          push_pop,  LIB,    call,        20,     50
    5,             0,          0,         NULL,          push_pop,  NULL,   copy,        30,     60
    6,             0,          0,         NULL,          push_pop,  NULL,   none,        35,     35
    7,             1,          2,         NULL,          push_pop,  NULL,   open,        40,   NULL
    8,             1,          2,         NULL,          push_pop,  NULL,   in,          50,     70
"""  # noqa: E501 - a table is read across


def test_ranges_nest_in_their_thread_and_domain(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.trace", annotation=RANGES)
    columns = [name for name in rows[0] if name not in ("category", "payload")]
    assert only(rows, columns) == table("""
        start_ns, end_ns, duration_ns, child_ns, own_ns, range_name, kind,      process_id, thread_id, end_thread_id, level, children, annotation_id, parent_id
        0,        100,            100,       50,     50, :step,      push_pop,           0,         0,          NULL,     0,        2,             0,      NULL
        5,        40,              35,     NULL,   NULL, :cross,     start_end,          0,         0,             1,  NULL,     NULL,             1,      NULL
        10,       30,              20,        0,     20, :load,      push_pop,           0,         0,          NULL,     1,        0,             2,         0
        12,       NULL,          NULL,     NULL,   NULL, :here,      mark,               0,         0,          NULL,  NULL,     NULL,             3,      NULL
        20,       50,              30,        0,     30, LIB:call,   push_pop,           0,         0,          NULL,     0,        0,             4,      NULL
        30,       60,              30,        0,     30, :copy,      push_pop,           0,         0,          NULL,     1,        1,             5,         0
        35,       35,               0,        0,      0, :none,      push_pop,           0,         0,          NULL,     2,        0,             6,         5
        40,       NULL,          NULL,       20,   NULL, :open,      push_pop,           1,         2,          NULL,     0,        1,             7,      NULL
        50,       70,              20,        0,     20, :in,        push_pop,           1,         2,          NULL,     1,        0,             8,         7
    """)  # noqa: E501 - a table is read across


@pytest.mark.parametrize(
    ("kinds", "names"),
    [("mark", [":here"]), ("start_end", [":cross"]), ("push_pop", None)],
)
def test_kinds_are_chosen(
    query_rows: QueryRows, kinds: str, names: list[str] | None
) -> None:
    rows = query_rows(
        "annotations.trace", parameters={"kinds": kinds}, annotation=RANGES
    )
    assert {row["kind"] for row in rows} == {kinds}
    assert names is None or [row["range_name"] for row in rows] == names


def test_identical_ranges_nest(query_rows: QueryRows) -> None:
    ranges = "process_id, thread_id, kind, text, start_ns, end_ns\n"
    ranges += "\n".join(f"0, 0, push_pop, r{n}, 5, 9" for n in range(3))
    rows = query_rows("annotations.trace", annotation=ranges)
    assert [(row["level"], row["children"], row["own_ns"]) for row in rows] == [
        (0, 1, 0),
        (1, 1, 0),
        (2, 0, 4),
    ]


def test_a_window_takes_ranges_that_start_inside(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.trace", window="10:35", annotation=RANGES)
    assert only(rows, ["range_name", "level", "parent_id", "children"]) == table("""
        range_name, level, parent_id, children
        :load,          1,         0,        0
        :here,       NULL,      NULL,     NULL
        LIB:call,       0,      NULL,        0
        :copy,          1,         0,        1
    """)
    rows = query_rows("annotations.trace", window="range:copy", annotation=RANGES)
    assert [row["range_name"] for row in rows] == [":copy", ":none"]


def test_only_the_processes_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.trace", processes=(1,), annotation=RANGES)
    assert [row["range_name"] for row in rows] == [":open", ":in"]
    with pytest.raises(QueryError, match="has no --device"):
        query_rows("annotations.trace", devices=(0,), annotation=RANGES)


def test_the_limit_takes_the_first(query_rows: QueryRows) -> None:
    rows = query_rows(
        "annotations.trace",
        parameters={"limit": 1},
        annotation=RANGES,
        ranks={1: {"annotation": RANGES}},
    )
    assert [(row["rank"], row["range_name"]) for row in rows] == [
        (0, ":step"),
        (1, ":step"),
    ]


def test_without_annotations_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("annotations.trace") == []
