"""steps.summary: durations, and what each step launched."""

from tests.conftest import MakeRun, QueryRows
from tests.support.tables import only, table
from tracekit.query import load_module, run_module

STEP = """
    step_index, process_id, name,   start_ns, end_ns, samples, unit,   source
    3,          0,          step 3,        0,    100,      32, images, annotation
    4,          0,          step 4,      100,    300,      32, images, annotation
"""
CALLS = """
    process_id, thread_id, name,             start_ns, end_ns, correlation_id
    0,          0,         cudaLaunchKernel,       90,    105,              1
    0,          1,         cudaLaunchKernel,      100,    110,              2
    0,          0,         cudaMemcpyAsync,       120,    130,              3
    0,          0,         cudaLaunchKernel,      300,    310,              4
    1,          2,         cudaLaunchKernel,       50,     60,              1
"""
KERNEL = """
    process_id, device_id, name, start_ns, end_ns, correlation_id
    0,          0,         a,         200,    220,              1
    0,          0,         b,         205,    215,              2
    0,          0,         c,         320,    330,              4
    0,          0,         d,          10,     20,              9
    1,          1,         e,          70,     80,              1
"""
MEMCPY = """
    process_id, device_id, start_ns, end_ns, correlation_id
    0,          0,              300,    400,              3
"""
TABLES = {"step": STEP, "api_call": CALLS, "kernel": KERNEL, "memcpy": MEMCPY}


def test_work_belongs_to_the_step_that_launched_it(query_rows: QueryRows) -> None:
    assert query_rows("steps.summary", TABLES) == table("""
        step_index, process_id, name,   start_ns, end_ns, duration_ns, stable, samples, unit,   samples_per_second, kernels, kernel_ns, gpu_end_ns, source
        3,          0,          step 3,        0,    100,         100, true,      32.0, images,        320000000.0,       1,        20,        220, annotation
        4,          0,          step 4,      100,    300,         200, true,      32.0, images,        160000000.0,       1,        10,        400, annotation
    """)  # noqa: E501 - a table is read across


def test_steps_of_processes_are_told_apart(query_rows: QueryRows) -> None:
    step = """
        step_index, process_id, start_ns, end_ns
        0,          0,                 0,    100
        0,          1,                 0,     60
    """
    rows = query_rows("steps.summary", {**TABLES, "step": step})
    assert only(rows, ["process_id", "kernels", "kernel_ns"]) == table("""
        process_id, kernels, kernel_ns
        0,          1,              20
        1,          1,              10
    """)
    rows = query_rows("steps.summary", {**TABLES, "step": step}, processes=(1,))
    assert only(rows, ["process_id", "kernel_ns"]) == table("""
        process_id, kernel_ns
        1,                 10
    """)


def test_without_launches_there_are_no_counts(query_rows: QueryRows) -> None:
    (first, _) = query_rows("steps.summary", step=STEP, kernel=KERNEL)
    assert (first["duration_ns"], first["kernels"]) == (100, None)


def test_a_window_takes_steps_that_begin_in_it(query_rows: QueryRows) -> None:
    rows = query_rows("steps.summary", TABLES, window="50:150")
    assert [row["step_index"] for row in rows] == [4]


def test_warm_up_is_left_out_unless_asked_for(query_rows: QueryRows) -> None:
    lengths = [*[500] * 4, 100, 100, 100, 101, 100, 99, 100, 100, 103, 100]
    starts = [sum(lengths[:n]) for n in range(len(lengths))]
    step = "step_index, process_id, start_ns, end_ns\n" + "\n".join(
        f"{n}, 0, {start}, {start + length}"
        for n, (start, length) in enumerate(zip(starts, lengths, strict=True))
    )
    rows = query_rows("steps.summary", step=step)
    assert [row["step_index"] for row in rows] == list(range(2, 14))
    rows = query_rows("steps.summary", step=step, window="all")
    assert [row["stable"] for row in rows] == [False, False, *[True] * 12]


def test_a_run_without_steps_says_so(run_of: MakeRun) -> None:
    answer = run_module(load_module("steps.summary"), [run_of({"kernel": KERNEL})])
    assert answer.table.num_rows == 0
    (reason,) = answer.reasons
    assert reason.startswith("steps.summary needs step")
