"""api.summary: sums and statistics per API function."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table
from tracekit.errors import QueryError

CALLS = """
    process_id, thread_id, domain,    name,             correlation_id, start_ns, end_ns
    0,          0,         runtime,   cudaLaunchKernel,              1,       10,     30
    0,          0,         driver,    cuLaunchKernel,                1,       12,     28
    0,          0,         backtrace, cudaLaunchKernel,              1,       10,    100
    0,          1,         runtime,   cudaLaunchKernel,              2,      100,    140
    1,          2,         NULL,      cudaMalloc,                 NULL,       50,     54
"""


def test_calls_of_one_function_are_summed(query_rows: QueryRows) -> None:
    rows = query_rows("api.summary", api_call=CALLS)
    assert rows == table("""
        api_name,         calls, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        cudaLaunchKernel,     2,       60,       0.75,    30.0,      30.0,     20,     40,    14.142
        cuLaunchKernel,       1,       16,        0.2,    16.0,      16.0,     16,     16,       0.0
        cudaMalloc,           1,        4,       0.05,     4.0,       4.0,      4,      4,       0.0
    """)  # noqa: E501 - a table is read across


def test_backtraces_can_be_counted(query_rows: QueryRows) -> None:
    rows = query_rows(
        "api.summary", parameters={"backtraces": "include"}, api_call=CALLS
    )
    assert only(rows, ["api_name", "calls", "total_ns", "median_ns"]) == table("""
        api_name,         calls, total_ns, median_ns
        cudaLaunchKernel,     3,      150,      40.0
        cuLaunchKernel,       1,       16,      16.0
        cudaMalloc,           1,        4,       4.0
    """)


def test_shares_are_of_all_calls_whatever_the_limit(query_rows: QueryRows) -> None:
    rows = query_rows("api.summary", parameters={"limit": 1}, api_call=CALLS)
    assert [(row["api_name"], row["time_share"]) for row in rows] == [
        ("cudaLaunchKernel", 0.75)
    ]


def test_limit_0_is_no_limit(query_rows: QueryRows) -> None:
    calls = "process_id, thread_id, name, start_ns, end_ns\n"
    calls += "\n".join(f"0, 0, f{n}, {n}, {n + 1}" for n in range(30))
    assert len(query_rows("api.summary", api_call=calls)) == 20
    rows = query_rows("api.summary", parameters={"limit": 0}, api_call=calls)
    assert len(rows) == 30


def test_a_window_takes_calls_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("api.summary", window="12:100", api_call=CALLS)
    assert only(rows, ["api_name", "total_ns"]) == table("""
        api_name,       total_ns
        cuLaunchKernel,       16
        cudaMalloc,            4
    """)


def test_a_range_takes_the_calls_of_its_process(query_rows: QueryRows) -> None:
    rows = query_rows(
        "api.summary",
        window="range:step",
        api_call=CALLS,
        annotation="""
            process_id, thread_id, kind,     text, start_ns, end_ns
            0,          0,         push_pop, step,       11,     60
        """,
    )
    assert [row["api_name"] for row in rows] == ["cuLaunchKernel"]


def test_only_the_processes_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows("api.summary", processes=(1,), api_call=CALLS)
    assert [(row["api_name"], row["time_share"]) for row in rows] == [
        ("cudaMalloc", 1.0)
    ]


def test_calls_belong_to_no_device(query_rows: QueryRows) -> None:
    with pytest.raises(QueryError, match="has no --device"):
        query_rows("api.summary", devices=(0,), api_call=CALLS)


def test_a_run_without_calls_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("api.summary") == []
