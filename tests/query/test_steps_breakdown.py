"""steps.breakdown: each instant of a step goes to one part."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import table

STEP = """
    step_index, process_id, start_ns, end_ns
    0,          0,                 0,    100
    1,          0,               100,    200
"""
GPU = "process_id, device_id, start_ns, end_ns"


def test_every_instant_goes_to_the_first_that_holds(query_rows: QueryRows) -> None:
    rows = query_rows(
        "steps.breakdown",
        step=STEP,
        kernel="""
            process_id, device_id, name,                 start_ns, end_ns
            0,          0,         gemm,                       10,     20
            0,          0,         ncclDevKernel_AllReduce,    15,     30
            0,          0,         gemm,                      190,    250
        """,
        graph_launch=f"{GPU}\n0, 0, 25, 40",
        memcpy=f"{GPU}\n0, 0, 35, 45",
        memset=f"{GPU}\n0, 0, 44, 50",
        api_call="""
            process_id, name,             start_ns, end_ns
            0,          cudaLaunchKernel,       -5,      5
            0,          cudaMemcpy,             48,     60
        """,
        annotation="""
            process_id, kind,     text,      start_ns, end_ns
            0,          push_pop, load_batch,      55,     70
            0,          push_pop, forward,          0,    200
        """,
        operator="""
            process_id, name,                                     start_ns, end_ns
            0,          aten::add,                                      65,     80
            0,          enumerate(DataLoader)#_Iter.__next__,          150,    160
        """,
        cpu_slice="process_id, start_ns, end_ns\n0, 75, 85",
        library_call="process_id, library, start_ns, end_ns\n0, cudnn, 84, 90",
    )
    assert rows == table("""
        step_index, process_id, device_id, duration_ns, kernel_ns, communication_ns, graph_ns, copy_ns, fill_ns, api_ns, data_loading_ns, other_cpu_ns, idle_ns, stable
        0,          0,          0,                 100,        10,               10,       10,       5,       5,     15,              10,           20,      15, true
        1,          0,          0,                 100,        10,                0,        0,       0,       0,      0,              10,            0,      80, true
    """)  # noqa: E501 - a table is read across


def test_work_of_other_processes_and_devices_is_not_the_steps(
    query_rows: QueryRows,
) -> None:
    step = "step_index, process_id, start_ns, end_ns\n0, 0, 0, 100\n0, 2, 0, 50"
    kernel = f"{GPU}\n0, 0, 0, 10\n0, 1, 20, 60\n1, 0, 0, 100"
    rows = query_rows("steps.breakdown", step=step, kernel=kernel)
    found = [(r["process_id"], r["device_id"], r["kernel_ns"]) for r in rows]
    assert found == [(0, 0, 10), (0, 1, 40), (2, None, 0)]
    rows = query_rows("steps.breakdown", step=step, kernel=kernel, devices=(1,))
    assert (0, 1, 40) in [
        (r["process_id"], r["device_id"], r["kernel_ns"]) for r in rows
    ]
    rows = query_rows("steps.breakdown", step=step, kernel=kernel, processes=(2,))
    assert [(r["process_id"], r["duration_ns"], r["idle_ns"]) for r in rows] == [
        (2, 50, 50)
    ]


def test_steps_that_begin_in_a_window_count_whole(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "steps.breakdown", window="50:150", step=STEP, kernel=f"{GPU}\n0, 0, 90, 180"
    )
    assert (row["step_index"], row["kernel_ns"], row["idle_ns"]) == (1, 80, 20)


@pytest.mark.parametrize("kernel", ["", "0, 0, 50, 50", "0, 0, 200, 300"])
def test_a_step_without_work_is_idle(query_rows: QueryRows, kernel: str) -> None:
    step = f"{STEP}\n    2, 0, 200, 200"
    rows = query_rows(
        "steps.breakdown", window="all", step=step, kernel=f"{GPU}\n{kernel}"
    )
    assert [row["idle_ns"] for row in rows] == [100, 100, 0]


def test_a_run_without_steps_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("steps.breakdown", kernel=f"{GPU}\n0, 0, 0, 10") == []
