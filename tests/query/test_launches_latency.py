"""launches.latency: from the end of a call to the start of its work."""

from tests.conftest import QueryRows
from tests.support.tables import table

CALLS = """
    process_id, thread_id, name,             start_ns, end_ns, correlation_id
    0,          0,         cudaLaunchKernel,        0,     10,              1
    0,          0,         cudaLaunchKernel,       20,     40,              2
    0,          0,         cudaMemcpyAsync,        50,     53,              3
"""
KERNEL = """
    process_id, device_id, start_ns, end_ns, correlation_id
    0,          0,               15,     20,              1
    0,          0,               35,     60,              2
    0,          0,               70,     80,              9
"""
MEMCPY = "process_id, device_id, start_ns, end_ns, correlation_id\n0, 0, 53, 60, 3"
TABLES = {"api_call": CALLS, "kernel": KERNEL, "memcpy": MEMCPY}


def test_latency_is_negative_where_work_began_during_the_call(
    query_rows: QueryRows,
) -> None:
    assert query_rows("launches.latency", TABLES) == table("""
        process_id, device_id, activity, api_name,         launches, queued, latency_min_ns, latency_p05_ns, latency_p50_ns, latency_p95_ns, latency_max_ns, latency_mean_ns, call_p50_ns, call_p95_ns, call_max_ns
        0,          0,         kernel,   cudaLaunchKernel,        2,      1,             -5,             -5,             -5,              5,              5,             0.0,          10,          20,          20
        0,          0,         memcpy,   cudaMemcpyAsync,         1,      0,              0,              0,              0,              0,              0,             0.0,           3,           3,           3
    """)  # noqa: E501 - a table is read across


def test_work_that_starts_in_the_window_counts(query_rows: QueryRows) -> None:
    rows = query_rows("launches.latency", TABLES, window="30:60")
    assert [row["latency_max_ns"] for row in rows] == [-5, 0]


def test_without_calls_there_is_no_row(query_rows: QueryRows) -> None:
    assert query_rows("launches.latency", kernel=KERNEL) == []
