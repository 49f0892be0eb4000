"""api.gpu_summary: sums and statistics per API function and operation of the GPU."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

TABLES = {
    "api_call": """
        process_id, thread_id, domain,    name,             correlation_id, start_ns, end_ns
        0,          0,         runtime,   cudaLaunchKernel,              1,        0,     30
        0,          0,         backtrace, cudaLaunchKernel,              1,        0,     40
        1,          1,         runtime,   cudaLaunchKernel,              1,       10,     20
    """,  # noqa: E501 - a table is read across
    "kernel": """
        device_id, process_id, correlation_id, name, start_ns, end_ns
        0,         0,          1,              gemm,       40,     90
        1,         1,          1,              gemm,      100,    104
    """,
    "memset": """
        device_id, process_id, start_ns, end_ns
        0,         0,                 0,      2
    """,
    "graph_launch": """
        device_id, process_id, graph_id, start_ns, end_ns
        0,         0,          4,             100,    104
    """,
}


def test_calls_and_operations_stand_side_by_side(query_rows: QueryRows) -> None:
    rows = query_rows("api.gpu_summary", TABLES)
    assert rows == table("""
        category,    operation,        count, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        CUDA_KERNEL, gemm,                 2,       54,       0.54,    27.0,      27.0,      4,     50,    32.527
        CUDA_API,    cudaLaunchKernel,     2,       40,        0.4,    20.0,      20.0,     10,     30,    14.142
        CUDA_GRAPH,  graph 4,              1,        4,       0.04,     4.0,       4.0,      4,      4,       0.0
        MEMORY_OPER, [CUDA memset],        1,        2,       0.02,     2.0,       2.0,      2,      2,       0.0
    """)  # noqa: E501 - a table is read across


def test_graphs_can_be_left_out_and_backtraces_counted(query_rows: QueryRows) -> None:
    rows = query_rows(
        "api.gpu_summary",
        TABLES,
        parameters={"graph_launches": "exclude", "backtraces": "include"},
    )
    assert only(rows, ["category", "operation", "count", "total_ns"]) == table("""
        category,    operation,        count, total_ns
        CUDA_API,    cudaLaunchKernel,     3,       80
        CUDA_KERNEL, gemm,                 2,       54
        MEMORY_OPER, [CUDA memset],        1,        2
    """)


def test_shares_are_of_everything_whatever_the_limit(query_rows: QueryRows) -> None:
    rows = query_rows("api.gpu_summary", TABLES, parameters={"limit": 1})
    assert [(row["operation"], row["time_share"]) for row in rows] == [("gemm", 0.54)]


def test_a_window_takes_what_starts_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("api.gpu_summary", TABLES, window="10:100")
    assert only(rows, ["category", "total_ns"]) == table("""
        category,    total_ns
        CUDA_KERNEL,       50
        CUDA_API,          10
    """)


def test_only_the_processes_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows("api.gpu_summary", TABLES, processes=(1,))
    assert only(rows, ["category", "total_ns"]) == table("""
        category,    total_ns
        CUDA_API,          10
        CUDA_KERNEL,        4
    """)


def test_a_device_limits_the_operations_alone(query_rows: QueryRows) -> None:
    rows = query_rows("api.gpu_summary", TABLES, devices=(1,))
    assert only(rows, ["category", "total_ns"]) == table("""
        category,    total_ns
        CUDA_API,          40
        CUDA_KERNEL,        4
    """)


def test_an_empty_run_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("api.gpu_summary") == []
