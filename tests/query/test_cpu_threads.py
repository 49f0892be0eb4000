"""cpu.threads: what each thread did."""

from tests.conftest import MakeRun, QueryRows
from tests.support.tables import only, table
from tracekit.query import load_module, run_module

CALLS = """
    process_id, thread_id, domain,    name,                  start_ns, end_ns
    0,          0,         runtime,   cudaLaunchKernel,             0,     10
    0,          0,         driver,    cuLaunchKernel,               2,      8
    0,          0,         runtime,   cudaDeviceSynchronize,       20,     50
    0,          0,         backtrace, cudaDeviceSynchronize,       15,     60
    0,          1,         runtime,   cudaMalloc,                   0,      5
"""
OS = """
    process_id, thread_id, name, start_ns, end_ns
    0,          2,         poll,        0,     90
    0,          2,         read,       80,     95
"""
THREAD = "thread_id, process_id, os_tid, name\n0, 0, 100, main\n2, 0, 102, helper"


def test_times_are_lengths_of_unions(query_rows: QueryRows) -> None:
    rows = query_rows("cpu.threads", api_call=CALLS, os_call=OS, thread=THREAD)
    assert rows == table("""
        process_id, thread_id, os_tid, name,   scheduled_ns, api_calls, api_ns, sync_ns, launch_calls, os_calls, os_ns, cpu_samples
        0,          0,            100, main,           NULL,         3,     40,      30,            2,        0,     0, NULL
        0,          1,           NULL, NULL,           NULL,         1,      5,       0,            0,        0,     0, NULL
        0,          2,            102, helper,         NULL,         0,      0,       0,            0,        2,    95, NULL
    """)  # noqa: E501 - a table is read across


def test_scheduling_and_samples(query_rows: QueryRows) -> None:
    rows = query_rows(
        "cpu.threads",
        cpu_slice="process_id, thread_id, start_ns, end_ns\n0, 1, 0, 20\n0, 0, 0, 5",
        cpu_sample="process_id, thread_id, time_ns\n0, 1, 3\n0, 1, 9",
    )
    names = ["thread_id", "scheduled_ns", "cpu_samples", "api_ns"]
    assert only(rows, names) == table("""
        thread_id, scheduled_ns, cpu_samples, api_ns
        1,                   20,           2, NULL
        0,                    5,           0, NULL
    """)


def test_a_window_takes_rows_that_begin_in_it(query_rows: QueryRows) -> None:
    rows = query_rows("cpu.threads", window="5:70", api_call=CALLS)
    assert only(rows, ["thread_id", "api_ns"]) == [{"thread_id": 0, "api_ns": 30}]


def test_a_run_without_calls_says_so(run_of: MakeRun) -> None:
    answer = run_module(load_module("cpu.threads"), [run_of({"thread": THREAD})])
    assert answer.table.num_rows == 0
    assert answer.reasons[0].startswith("cpu.threads needs api_call or cpu_sample")
