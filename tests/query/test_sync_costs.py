"""sync.costs: waiting, and whether a GPU worked meanwhile."""

from tests.conftest import QueryRows
from tests.support.tables import table

CALLS = """
    process_id, thread_id, domain,    name,                  start_ns, end_ns
    0,          0,         runtime,   cudaStreamSynchronize,        0,     30
    0,          0,         runtime,   cudaStreamSynchronize,       50,     70
    0,          1,         runtime,   cudaDeviceSynchronize,       20,     60
    0,          1,         backtrace, cudaDeviceSynchronize,       10,     70
    0,          1,         runtime,   cudaLaunchKernel,            70,     80
    1,          2,         runtime,   cudaStreamSynchronize,        0,     40
"""
GPU = "process_id, device_id, start_ns, end_ns"
KERNEL = f"{GPU}\n0, 0, 10, 25\n0, 1, 20, 40\n0, 0, 60, 65\n1, 0, 0, 5"


def test_waits_are_parted_by_what_the_gpus_did(query_rows: QueryRows) -> None:
    rows = query_rows("sync.costs", kernel=KERNEL, api_call=CALLS)
    # GPUs of process 0 work from 10 to 40 and from 60 to 65.
    assert rows == table("""
        process_id, thread_id, api_name,              calls, total_ns, gpu_busy_ns, gpu_idle_ns, mean_ns, median_ns, max_ns
        0,          0,         cudaStreamSynchronize,     2,       50,          25,          25,    25.0,      25.0,     30
        0,          1,         cudaDeviceSynchronize,     1,       40,          20,          20,    40.0,      40.0,     40
        1,          2,         cudaStreamSynchronize,     1,       40,           5,          35,    40.0,      40.0,     40
    """)  # noqa: E501 - a table is read across


def test_a_window_takes_calls_that_begin_in_it(query_rows: QueryRows) -> None:
    rows = query_rows("sync.costs", window="15:55", kernel=KERNEL, api_call=CALLS)
    assert [(r["thread_id"], r["total_ns"], r["gpu_busy_ns"]) for r in rows] == [
        (1, 40, 20),
        (0, 20, 5),
    ]


def test_only_the_processes_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows("sync.costs", processes=(1,), kernel=KERNEL, api_call=CALLS)
    assert [row["gpu_busy_ns"] for row in rows] == [5]


def test_without_gpu_work_every_wait_is_idle(query_rows: QueryRows) -> None:
    rows = query_rows("sync.costs", api_call=CALLS)
    assert all(row["gpu_idle_ns"] == row["total_ns"] for row in rows)
    assert query_rows("sync.costs", kernel=KERNEL) == []
