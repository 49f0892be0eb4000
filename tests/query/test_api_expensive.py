"""api.expensive: calls with a remedy, in the loop and outside of it."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table

CALLS = """
    process_id, thread_id, domain,    name,               start_ns, end_ns, correlation_id
    0,          0,         runtime,   cudaMalloc,                0,     50,              1
    0,          0,         runtime,   cudaMalloc,              110,    120,              2
    0,          0,         runtime,   cudaMemcpyAsync,         120,    150,              3
    0,          0,         runtime,   cudaMemcpyAsync,         150,    155,              4
    0,          0,         runtime,   cudaMemcpy,              155,    175,              5
    0,          0,         backtrace, cudaMemcpy,              150,    180,              5
    0,          0,         runtime,   cudaMallocAsync,         180,    185,              6
    1,          1,         driver,    cuMemsetD8,              130,    133,              7
    0,          0,         runtime,   cudaLaunchKernel,        190,    195,              8
"""  # noqa: E501 - a table is read across
MEMCPY = """
    process_id, source_memory_kind, destination_memory_kind, bytes, start_ns, end_ns, correlation_id
    0,          pageable,           device,                   1000,      130,    140,              3
    0,          pinned,             device,                   2000,      155,    160,              4
    0,          device,             pageable,                 4000,      160,    170,              5
    1,          pageable,           device,                   9000,      160,    170,              4
"""  # noqa: E501 - a table is read across
STEP = "step_index, process_id, start_ns, end_ns\n0, 0, 100, 160\n1, 0, 170, 200"


def test_each_call_has_the_first_problem_that_holds(query_rows: QueryRows) -> None:
    rows = query_rows("api.expensive", api_call=CALLS, memcpy=MEMCPY, step=STEP)
    assert rows == table("""
        problem,           process_id, api_name,        calls, calls_in_steps, total_ns, in_steps_ns, mean_ns, max_ns, bytes
        device_allocation, 0,          cudaMalloc,          2,              1,       60,          10,    30.0,     50, NULL
        pageable_copy,     0,          cudaMemcpyAsync,     1,              1,       30,          30,    30.0,     30, 1000
        synchronous_copy,  0,          cudaMemcpy,          1,              1,       20,          20,    20.0,     20, 4000
        synchronous_fill,  1,          cuMemsetD8,          1,           NULL,        3,        NULL,     3.0,      3, NULL
    """)  # noqa: E501 - a table is read across


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cudaFree", "device_free"),
        ("cuMemFree_v2", "device_free"),
        ("cudaMallocManaged", "device_allocation"),
        ("cuMemAlloc_v2", "device_allocation"),
        ("hipMalloc", "device_allocation"),
        ("cudaMallocHost", "host_allocation"),
        ("cudaHostAlloc", "host_allocation"),
        ("cudaHostRegister", "host_allocation"),
        ("cuMemAllocHost_v2", "host_allocation"),
        ("cuModuleLoadData", "code_loading"),
        ("cuLibraryLoadData", "code_loading"),
        ("cuMemcpyHtoD_v2", "synchronous_copy"),
        ("hipMemset", "synchronous_fill"),
    ],
)
def test_problems_by_name(query_rows: QueryRows, name: str, problem: str) -> None:
    rows = query_rows(
        "api.expensive", api_call=f"process_id, name, start_ns, end_ns\n0, {name}, 0, 5"
    )
    assert only(rows, ["problem"]) == [{"problem": problem}]


@pytest.mark.parametrize(
    "name",
    ["cudaFreeAsync", "cudaFreeHost", "cudaMemsetAsync", "cudaLaunchKernel", "cuInit"],
)
def test_other_calls_are_no_problem(query_rows: QueryRows, name: str) -> None:
    calls = f"process_id, name, start_ns, end_ns\n0, {name}, 0, 5"
    assert query_rows("api.expensive", api_call=calls) == []


def test_a_window_takes_calls_that_begin_in_it(query_rows: QueryRows) -> None:
    rows = query_rows("api.expensive", window="100:130", api_call=CALLS, memcpy=MEMCPY)
    assert only(rows, ["api_name", "calls"]) == table("""
        api_name,        calls
        cudaMemcpyAsync,     1
        cudaMalloc,          1
    """)


def test_a_run_without_calls_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("api.expensive", memcpy=MEMCPY) == []
