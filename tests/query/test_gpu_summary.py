"""gpu.summary: sums and statistics per operation of the GPU."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table

WORK = {
    "kernel": """
        device_id, process_id, correlation_id, name, start_ns, end_ns
        0,         0,          1,              gemm,        0,     50
        0,         0,          2,              gemm,       60,     90
        1,         1,          1,              relu,      100,    110
    """,
    "memcpy": """
        device_id, process_id, correlation_id, copy_kind, bytes, start_ns, end_ns
        0,         0,          3,              HtoD,        100,       10,     30
        0,         0,          4,              DtoH,        100,       30,     40
    """,
    "memset": """
        device_id, process_id, correlation_id, memory_kind, bytes, start_ns, end_ns
        0,         0,          5,              device,         10,       95,    100
        0,         0,          6,              NULL,           10,      200,    205
    """,
    "graph_launch": """
        device_id, process_id, correlation_id, graph_id, start_ns, end_ns
        0,         0,          7,              4,             120,    190
    """,
}


def test_each_operation_has_a_row(query_rows: QueryRows) -> None:
    rows = query_rows("gpu.summary", WORK)
    assert rows == table("""
        category,    operation,                     count, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        CUDA_KERNEL, gemm,                              2,       80,        0.4,    40.0,      40.0,     30,     50,    14.142
        CUDA_GRAPH,  graph 4,                           1,       70,       0.35,    70.0,      70.0,     70,     70,       0.0
        MEMORY_OPER, [CUDA memcpy Host-to-Device],      1,       20,        0.1,    20.0,      20.0,     20,     20,       0.0
        CUDA_KERNEL, relu,                              1,       10,       0.05,    10.0,      10.0,     10,     10,       0.0
        MEMORY_OPER, [CUDA memcpy Device-to-Host],      1,       10,       0.05,    10.0,      10.0,     10,     10,       0.0
        MEMORY_OPER, [CUDA memset],                     2,       10,       0.05,     5.0,       5.0,      5,      5,       0.0
    """)  # noqa: E501 - a table is read across


def test_graphs_can_be_left_out(query_rows: QueryRows) -> None:
    rows = query_rows("gpu.summary", WORK, parameters={"graph_launches": "exclude"})
    assert [row["category"] for row in rows].count("CUDA_GRAPH") == 0
    # 80 of the 130 ns that are left.
    assert (rows[0]["operation"], rows[0]["time_share"]) == ("gemm", 0.615)


def test_a_kernel_named_like_an_operation_stays_a_kernel(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.summary",
        kernel="""
            device_id, process_id, name,          start_ns, end_ns
            0,         0,          [CUDA memset],        0,     10
        """,
        memset="device_id, process_id, start_ns, end_ns\n0, 0, 20, 25",
    )
    assert only(rows, ["category", "operation", "total_ns"]) == table("""
        category,    operation,     total_ns
        CUDA_KERNEL, [CUDA memset],       10
        MEMORY_OPER, [CUDA memset],        5
    """)


def test_shares_are_of_all_operations_whatever_the_limit(query_rows: QueryRows) -> None:
    rows = query_rows("gpu.summary", WORK, parameters={"limit": 1})
    assert [(row["operation"], row["time_share"]) for row in rows] == [("gemm", 0.4)]


def test_limit_0_is_no_limit(query_rows: QueryRows) -> None:
    kernel = "device_id, process_id, name, start_ns, end_ns\n"
    kernel += "\n".join(f"0, 0, k{n}, {n}, {n + 1}" for n in range(30))
    assert len(query_rows("gpu.summary", kernel=kernel)) == 20
    rows = query_rows("gpu.summary", parameters={"limit": 0}, kernel=kernel)
    assert len(rows) == 30


@pytest.mark.parametrize(
    ("window", "operations"),
    [
        ("30:96", ["gemm", "[CUDA memcpy Device-to-Host]", "[CUDA memset]"]),
        ("range:step", ["graph 4", "gemm"]),
    ],
)
def test_a_window_takes_whole_operations(
    query_rows: QueryRows, window: str, operations: list[str]
) -> None:
    tables = {
        **WORK,
        "api_call": """
            process_id, thread_id, correlation_id, name,             start_ns, end_ns
            0,          0,         2,              cudaLaunchKernel,       12,     14
            0,          0,         7,              cudaGraphLaunch,        15,     16
            0,          0,         5,              cudaMemsetAsync,        40,     41
        """,
        "annotation": """
            process_id, thread_id, kind,     text, start_ns, end_ns
            0,          0,         push_pop, step,       10,     20
        """,
    }
    rows = query_rows("gpu.summary", tables, window=window)
    assert [row["operation"] for row in rows] == operations
    (gemm,) = [row for row in rows if row["operation"] == "gemm"]
    assert gemm["total_ns"] == 30


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    by_device = query_rows("gpu.summary", WORK, devices=(1,))
    by_process = query_rows("gpu.summary", WORK, processes=(1,))
    assert [row["operation"] for row in by_device] == ["relu"]
    assert by_process == by_device


def test_a_run_without_gpu_work_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("gpu.summary") == []
