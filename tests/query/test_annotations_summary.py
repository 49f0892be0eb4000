"""annotations.summary: sums and statistics per range name and kind."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table
from tracekit.errors import QueryError

RANGES = """
    process_id, thread_id, kind,      domain, text, start_ns, end_ns
    0,          0,         push_pop,  NULL,   step,        0,    100
    0,          0,         push_pop,  NULL,   load,       10,     30
    0,          0,         push_pop,  NCCL,   load,       12,     20
    0,          0,         push_pop,  NULL,   load,       30,     60
    0,          0,         push_pop,  NULL,   load,       60,     60
    0,          0,         start_end, NULL,   load,       40,    120
    0,          1,         start_end, NULL,   load,       40,    120
    1,          2,         push_pop,  NULL,   step,       50,   NULL
    1,          2,         mark,      NULL,   step,      150,   NULL
    1,          2,         push_pop,  NULL,   tail,      140,   NULL
"""
SUMS = ["range_name", "kind", "instances", "open_ranges", "total_ns"]


def test_ranges_of_one_name_and_kind_are_summed(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.summary", annotation=RANGES)
    assert rows == table("""
        range_name, kind,      instances, open_ranges, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        :load,      start_end,         2,           0,      160,      0.503,    80.0,      80.0,     80,     80,       0.0
        :step,      push_pop,          1,           1,      100,      0.314,   100.0,     100.0,    100,    100,       0.0
        :load,      push_pop,          3,           0,       50,      0.157,  16.667,      20.0,      0,     30,    15.275
        NCCL:load,  push_pop,          1,           0,        8,      0.025,     8.0,       8.0,      8,      8,       0.0
        :tail,      push_pop,          0,           1,     NULL,       NULL,    NULL,      NULL,   NULL,   NULL,      NULL
    """)  # noqa: E501 - a table is read across


def test_open_ranges_can_last_until_the_last_time(query_rows: QueryRows) -> None:
    rows = query_rows(
        "annotations.summary",
        parameters={"open_ranges": "until_last"},
        annotation=RANGES,
    )
    # The mark at 150 is the last: 100 + (150 - 50) and 150 - 140.
    assert only(rows, SUMS) == table("""
        range_name, kind,      instances, open_ranges, total_ns
        :step,      push_pop,          2,           1,      200
        :load,      start_end,         2,           0,      160
        :load,      push_pop,          3,           0,       50
        :tail,      push_pop,          1,           1,       10
        NCCL:load,  push_pop,          1,           0,        8
    """)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (
            "push_pop",
            [(":step", 100), (":load", 50), ("NCCL:load", 8), (":tail", None)],
        ),
        ("start_end", [(":load", 160)]),
    ],
)
def test_kinds_can_be_told_apart(
    query_rows: QueryRows, kinds: str, expected: list[tuple[str, int | None]]
) -> None:
    rows = query_rows(
        "annotations.summary", parameters={"kinds": kinds}, annotation=RANGES
    )
    assert [(row["range_name"], row["total_ns"]) for row in rows] == expected
    assert sum(row["time_share"] or 0 for row in rows) == pytest.approx(1, abs=0.002)


def test_the_limit_takes_the_longest(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.summary", parameters={"limit": 1}, annotation=RANGES)
    assert [(row["total_ns"], row["time_share"]) for row in rows] == [(160, 0.503)]
    many = "kind, text, start_ns, end_ns\n" + "\n".join(
        f"push_pop, r{n}, {n}, {n + 1}" for n in range(30)
    )
    assert len(query_rows("annotations.summary", annotation=many)) == 20
    rows = query_rows("annotations.summary", parameters={"limit": 0}, annotation=many)
    assert len(rows) == 30


def test_a_window_takes_ranges_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.summary", window="12:50", annotation=RANGES)
    assert only(rows, SUMS) == table("""
        range_name, kind,      instances, open_ranges, total_ns
        :load,      start_end,         2,           0,      160
        :load,      push_pop,          1,           0,       30
        NCCL:load,  push_pop,          1,           0,        8
    """)


def test_a_range_takes_those_that_its_process_began_inside(
    query_rows: QueryRows,
) -> None:
    rows = query_rows("annotations.summary", window="range:step", annotation=RANGES)
    # The step of process 1 has no end, so it is no window.
    assert only(rows, SUMS) == table("""
        range_name, kind,      instances, open_ranges, total_ns
        :load,      start_end,         2,           0,      160
        :step,      push_pop,          1,           0,      100
        :load,      push_pop,          3,           0,       50
        NCCL:load,  push_pop,          1,           0,        8
    """)


def test_only_the_processes_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.summary", processes=(1,), annotation=RANGES)
    assert [(row["range_name"], row["open_ranges"]) for row in rows] == [
        (":step", 1),
        (":tail", 1),
    ]


def test_ranges_belong_to_no_device(query_rows: QueryRows) -> None:
    with pytest.raises(QueryError, match="has no --device"):
        query_rows("annotations.summary", devices=(0,), annotation=RANGES)


def test_each_rank_has_rows_of_its_own(query_rows: QueryRows) -> None:
    other = """
        process_id, thread_id, kind,     text, start_ns, end_ns
        2,          3,         push_pop, step,        0,     70
    """
    rows = query_rows(
        "annotations.summary",
        parameters={"limit": 1},
        annotation=RANGES,
        ranks={1: {"annotation": other}},
    )
    assert [(row["rank"], row["total_ns"]) for row in rows] == [(0, 160), (1, 70)]


def test_without_ranges_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("annotations.summary") == []
    mark = "kind, text, start_ns, end_ns\nmark, here, 5, NULL"
    assert query_rows("annotations.summary", annotation=mark) == []


def test_ranges_without_length_have_no_share(query_rows: QueryRows) -> None:
    empty = "kind, text, start_ns, end_ns\npush_pop, here, 5, 5"
    (row,) = query_rows("annotations.summary", annotation=empty)
    assert (row["total_ns"], row["time_share"]) == (0, None)
