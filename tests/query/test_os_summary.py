"""os.summary: sums and statistics per function of the operating system."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table
from tracekit.errors import QueryError

CALLS = """
    process_id, thread_id, name, start_ns, end_ns
    0,          0,         poll,        0,     50
    0,          1,         poll,       10,     40
    0,          0,         read,       60,     75
    1,          2,         read,       70,     75
"""


def test_calls_of_one_function_are_summed(query_rows: QueryRows) -> None:
    rows = query_rows("os.summary", os_call=CALLS)
    assert rows == table("""
        function_name, calls, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        poll,              2,       80,        0.8,    40.0,      40.0,     30,     50,    14.142
        read,              2,       20,        0.2,    10.0,      10.0,      5,     15,     7.071
    """)  # noqa: E501 - a table is read across


def test_shares_are_of_all_calls_whatever_the_limit(query_rows: QueryRows) -> None:
    rows = query_rows("os.summary", parameters={"limit": 1}, os_call=CALLS)
    assert [(row["function_name"], row["time_share"]) for row in rows] == [
        ("poll", 0.8)
    ]


def test_limit_0_is_no_limit(query_rows: QueryRows) -> None:
    calls = "process_id, thread_id, name, start_ns, end_ns\n"
    calls += "\n".join(f"0, 0, f{n}, {n}, {n + 1}" for n in range(30))
    assert len(query_rows("os.summary", os_call=calls)) == 20
    rows = query_rows("os.summary", parameters={"limit": 0}, os_call=calls)
    assert len(rows) == 30


def test_a_window_takes_calls_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("os.summary", window="10:70", os_call=CALLS)
    assert only(rows, ["function_name", "total_ns"]) == table("""
        function_name, total_ns
        poll,                30
        read,                15
    """)


def test_only_the_processes_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows("os.summary", processes=(1,), os_call=CALLS)
    assert only(rows, ["function_name", "total_ns"]) == [
        {"function_name": "read", "total_ns": 5}
    ]


def test_calls_belong_to_no_device(query_rows: QueryRows) -> None:
    with pytest.raises(QueryError, match="has no --device"):
        query_rows("os.summary", devices=(0,), os_call=CALLS)


def test_a_run_without_calls_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("os.summary") == []
