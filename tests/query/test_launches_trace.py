"""launches.trace: one row for each kernel that a call launched."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

KERNELS = """
    process_id, device_id, stream_id, correlation_id, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, start_ns, end_ns
    0,          0,         7,         1,              gemm,      8,      2,      1,     128,       1,       1,       30,     50
    0,          0,         7,         3,              relu,      1,      1,      1,      32,       1,       1,      205,    206
    1,          1,         8,         1,              gemm,      8,      2,      1,     128,       1,       1,       90,     95
    0,          0,         7,         9,              lost,      1,      1,      1,      32,       1,       1,      900,    999
"""  # noqa: E501 - a table is read across
CALLS = """
    process_id, thread_id, domain,    name,             correlation_id, start_ns, end_ns
    0,          0,         runtime,   cudaLaunchKernel,              1,       10,     20
    0,          0,         backtrace, cudaLaunchKernel,              1,        5,     29
    0,          0,         runtime,   cudaLaunchKernel,              3,      200,    230
    1,          2,         runtime,   cuLaunchKernel,                1,       60,     70
"""


def test_each_launch_has_a_row(query_rows: QueryRows) -> None:
    rows = query_rows("launches.trace", kernel=KERNELS, api_call=CALLS)
    assert rows == table("""
        api_start_ns, api_ns, queue_start_ns, queue_ns, kernel_start_ns, kernel_ns, total_ns, process_id, thread_id, device_id, stream_id, correlation_id, kernel_id, api_name,         grid_x, grid_y, grid_z, block_x, block_y, block_z, kernel_name
                  10,     10,             20,       10,              30,        20,       40,          0,         0,         0,         7,              1,         0, cudaLaunchKernel,      8,      2,      1,     128,       1,       1, gemm
                  60,     10,             70,       20,              90,         5,       35,          1,         2,         1,         8,              1,         1, cuLaunchKernel,        8,      2,      1,     128,       1,       1, gemm
                 200,     30,           NULL,     NULL,             205,         1,       30,          0,         0,         0,         7,              3,         2, cudaLaunchKernel,      1,      1,      1,      32,       1,       1, relu
    """)  # noqa: E501 - a table is read across


def test_kernels_of_a_graph_share_their_call(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.trace",
        kernel="""
            process_id, device_id, correlation_id, name, start_ns, end_ns
            0,          0,         1,              a,          50,     60
            0,          0,         1,              b,          35,     90
        """,
        api_call="""
            process_id, thread_id, name,            correlation_id, start_ns, end_ns
            0,          0,         cudaGraphLaunch, 1,                    10,     40
        """,
    )
    columns = ["kernel_name", "api_start_ns", "api_ns", "queue_ns", "total_ns"]
    assert only(rows, columns) == table("""
        kernel_name, api_start_ns, api_ns, queue_ns, total_ns
        b,                     10,     30, NULL,           80
        a,                     10,     30, 10,             50
    """)


def test_the_limit_takes_the_first(query_rows: QueryRows) -> None:
    kernel = "process_id, device_id, correlation_id, name, start_ns, end_ns\n"
    kernel += "\n".join(f"0, 0, {n}, k{n}, {n + 100}, {n + 101}" for n in range(30))
    calls = "process_id, thread_id, name, correlation_id, start_ns, end_ns\n"
    calls += "\n".join(f"0, 0, f, {n}, {n}, {n + 1}" for n in range(30))

    def starts(**parameters: int) -> list[int]:
        rows = query_rows(
            "launches.trace", parameters=parameters, kernel=kernel, api_call=calls
        )
        return [row["api_start_ns"] for row in rows]

    assert starts(limit=2) == [0, 1]
    assert starts() == list(range(20))
    assert starts(limit=0) == list(range(30))


def test_a_window_takes_kernels_that_start_inside(query_rows: QueryRows) -> None:
    rows = query_rows("launches.trace", window="31:205", kernel=KERNELS, api_call=CALLS)
    assert [row["kernel_start_ns"] for row in rows] == [90]


def test_a_range_takes_what_was_launched_inside(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.trace",
        window="range:step",
        kernel=KERNELS,
        api_call=CALLS,
        annotation="""
            process_id, thread_id, kind,     text, start_ns, end_ns
            0,          0,         push_pop, step,       60,    201
        """,
    )
    assert [row["kernel_name"] for row in rows] == ["relu"]


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    tables = {"kernel": KERNELS, "api_call": CALLS}
    by_device = query_rows("launches.trace", tables, devices=(1,))
    by_process = query_rows("launches.trace", tables, processes=(1,))
    assert [row["api_start_ns"] for row in by_device] == [60]
    assert by_process == by_device


def test_without_calls_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("launches.trace", kernel=KERNELS) == []
    assert query_rows("launches.trace") == []
