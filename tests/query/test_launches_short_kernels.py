"""launches.short_kernels: kernels shorter than what launches them."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

CALLS = """
    process_id, thread_id, name,             start_ns, end_ns, correlation_id
    0,          0,         cudaLaunchKernel,        0,     10,              1
    0,          0,         cudaLaunchKernel,       20,     30,              2
    0,          0,         cudaLaunchKernel,       40,     50,              3
    0,          0,         cudaGraphLaunch,        60,     90,              4
"""
KERNEL = """
    process_id, device_id, name, graph_node_id, start_ns, end_ns, correlation_id
    0,          0,         relu,          NULL,       10,     14,              1
    0,          0,         relu,          NULL,       30,     38,              2
    0,          0,         relu,          NULL,       50,     60,              3
    0,          0,         add,              1,       90,     96,              4
    0,          0,         mul,              2,      100,    120,              4
    0,          0,         gone,          NULL,      200,    201,              7
"""


def test_kernels_shorter_than_their_call(query_rows: QueryRows) -> None:
    rows = query_rows("launches.short_kernels", kernel=KERNEL, api_call=CALLS)
    # A call of 30 ns launches two kernels: 15 ns each.
    assert rows == table("""
        device_id, kernel_name, launches, short, short_share, short_ns, call_ns, excess_ns, median_ns
        0,         add,                1,     1,         1.0,        6,    15.0,       9.0,       6.0
        0,         relu,               3,     2,       0.667,       12,    20.0,       8.0,       6.0
    """)  # noqa: E501 - a table is read across


def test_limit_takes_the_costliest(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.short_kernels",
        parameters={"limit": 1},
        kernel=KERNEL,
        api_call=CALLS,
    )
    assert only(rows, ["kernel_name"]) == [{"kernel_name": "add"}]


def test_without_calls_there_is_no_row(query_rows: QueryRows) -> None:
    assert query_rows("launches.short_kernels", kernel=KERNEL) == []
