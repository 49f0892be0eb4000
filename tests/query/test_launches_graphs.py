"""launches.graphs: launches of CUDA graphs, whole or by node."""

from tests.conftest import QueryRows
from tests.support.tables import table

CALLS = """
    process_id, thread_id, name,             start_ns, end_ns, correlation_id
    0,          0,         cudaGraphLaunch,         0,     10,              1
    0,          0,         cudaGraphLaunch,        20,     40,              2
    0,          0,         cudaLaunchKernel,       50,     51,              3
"""


def test_nodes_of_a_launch_are_one_launch(query_rows: QueryRows) -> None:
    kernel = """
        process_id, device_id, graph_id, graph_node_id, start_ns, end_ns, correlation_id
        0,          0,         5,                    1,       15,     20,              1
        0,          0,         5,                    2,       20,     30,              1
        0,          0,         5,                    1,       45,     50,              2
        0,          0,         5,                    2,       50,     70,              2
        0,          0,         NULL,              NULL,       80,     90,              3
    """
    memset = """
        process_id, device_id, graph_id, graph_node_id, start_ns, end_ns, correlation_id
        0,          0,         5,                    3,       30,     31,              1
        0,          0,         5,                    3,       70,     75,              2
    """
    rows = query_rows("launches.graphs", kernel=kernel, memset=memset, api_call=CALLS)
    assert rows == table("""
        process_id, device_id, graph_id, traced, launches, nodes, total_ns, mean_ns, min_ns, max_ns, call_mean_ns, call_max_ns, latency_p50_ns
        0,          0,         5,        node,          2,     3,       46,    23.0,     16,     30,         15.0,          20,              5
    """)  # noqa: E501 - a table is read across


def test_whole_graphs_have_no_nodes(query_rows: QueryRows) -> None:
    graph_launch = """
        process_id, device_id, graph_id, start_ns, end_ns, correlation_id
        0,          0,         5,              12,     30,              1
        0,          0,         6,              38,     50,              2
        0,          0,         6,              60,     70,              9
    """
    rows = query_rows("launches.graphs", graph_launch=graph_launch, api_call=CALLS)
    assert rows == table("""
        process_id, device_id, graph_id, traced, launches, nodes, total_ns, mean_ns, min_ns, max_ns, call_mean_ns, call_max_ns, latency_p50_ns
        0,          0,         6,        graph,         2,  NULL,       22,    11.0,     10,     12,         20.0,          20,             -2
        0,          0,         5,        graph,         1,  NULL,       18,    18.0,     18,     18,         10.0,          10,              2
    """)  # noqa: E501 - a table is read across


def test_a_run_without_graphs_has_no_rows(query_rows: QueryRows) -> None:
    kernel = "process_id, device_id, start_ns, end_ns\n0, 0, 0, 5"
    assert query_rows("launches.graphs", kernel=kernel) == []
