"""gpu.idle_attribution: each instant without a kernel has one cause."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table

CAUSES = (
    "copy_ns",
    "capture_artifact_ns",
    "synchronization_ns",
    "launch_in_flight_ns",
    "host_late_ns",
    "dependency_ns",
    "unknown_ns",
)
KERNEL = """
    process_id, device_id, name, start_ns, end_ns, correlation_id
    0,          0,         a,           0,     10,              1
    0,          0,         b,          60,     70,              2
    0,          0,         c,         100,    110,              3
"""
CALLS = """
    process_id, thread_id, name,                  start_ns, end_ns, correlation_id
    0,          0,         cudaDeviceSynchronize,        5,     20,              8
    0,          0,         cudaLaunchKernel,            35,     50,              2
    0,          1,         cudaDeviceSynchronize,       10,     60,              9
"""
TABLES = {"kernel": KERNEL, "api_call": CALLS}


def test_each_instant_has_the_first_cause_that_holds(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.idle_attribution",
        TABLES,
        memcpy="""
            process_id, device_id, start_ns, end_ns, correlation_id
            0,          0,              68,      75,              7
        """,
        overhead="process_id, start_ns, end_ns\n0, 15, 25\n0, 72, 77",
    )
    # 10-15 the launching thread synchronizes, 15-25 the profiler works, 25-35 the
    # host is late, 35-50 the call runs, 50-60 the kernel waits; 70-75 copy, 75-77
    # profiler, 77-100 nobody knows who launched.
    assert rows == table("""
        device_id, process_id, step_index, window_ns, not_computing_ns, copy_ns, capture_artifact_ns, synchronization_ns, launch_in_flight_ns, host_late_ns, dependency_ns, unknown_ns, graphs_are_work
        0,         NULL,       NULL,             110,               80,       5,                  12,                  5,                  15,           10,            10,         23, false
    """)  # noqa: E501 - a table is read across


def test_steps_have_rows_of_their_own(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.idle_attribution",
        TABLES,
        parameters={"each": "step"},
        step="step_index, process_id, start_ns, end_ns\n4, 0, 0, 40\n5, 0, 40, 120",
    )
    names = ("step_index", "window_ns", "not_computing_ns", *CAUSES)
    # After the last kernel nothing more is launched: unknown.
    assert only(rows, names) == table("""
        step_index, window_ns, not_computing_ns, copy_ns, capture_artifact_ns, synchronization_ns, launch_in_flight_ns, host_late_ns, dependency_ns, unknown_ns
        4,                 40,               30,       0,                   0,                 10,                   5,           15,             0,          0
        5,                 80,               60,       0,                   0,                  0,                  10,            0,            10,         40
    """)  # noqa: E501 - a table is read across


def test_a_window_cuts_the_time_but_not_what_comes_next(query_rows: QueryRows) -> None:
    (row,) = query_rows("gpu.idle_attribution", TABLES, window="12:38")
    assert row["window_ns"] == row["not_computing_ns"] == 26
    assert row["synchronization_ns"] == 8
    assert row["host_late_ns"] == 15
    assert row["launch_in_flight_ns"] == 3


def test_a_range_has_causes_of_its_own(query_rows: QueryRows) -> None:
    ranges = """
        process_id, thread_id, kind,     text,    start_ns, end_ns
        0,          0,         push_pop, forward,       12,     38
        0,          0,         push_pop, other,         40,     50
    """
    rows = query_rows(
        "gpu.idle_attribution", TABLES, window="range:forward", annotation=ranges
    )
    assert rows == query_rows("gpu.idle_attribution", TABLES, window="12:38")
    assert sum(rows[0][cause] for cause in CAUSES) == rows[0]["not_computing_ns"] == 26


def test_with_graphs_all_that_ran_is_work(query_rows: QueryRows) -> None:
    gpu = "process_id, device_id, start_ns, end_ns"
    (row,) = query_rows(
        "gpu.idle_attribution",
        kernel=f"{gpu}\n0, 0, 0, 10\n0, 0, 90, 100",
        graph_launch=f"{gpu}\n0, 0, 20, 30",
        memcpy=f"{gpu}\n0, 0, 40, 50",
    )
    assert row["graphs_are_work"] is True
    assert (row["not_computing_ns"], row["copy_ns"]) == (60, 0)


def test_of_several_that_begin_at_once_the_longest_is_next(
    query_rows: QueryRows,
) -> None:
    (row,) = query_rows(
        "gpu.idle_attribution",
        kernel="""
            process_id, device_id, start_ns, end_ns, correlation_id
            0,          0,                0,     10,              1
            0,          0,               20,     25,              2
            0,          0,               20,     30,              3
        """,
        api_call="""
            process_id, thread_id, name,             start_ns, end_ns, correlation_id
            0,          0,         cudaLaunchKernel,        0,      5,              2
            0,          0,         cudaLaunchKernel,       30,     35,              3
        """,
    )
    assert (row["host_late_ns"], row["dependency_ns"]) == (10, 0)


@pytest.mark.parametrize("processes", [None, (1,)])
def test_only_the_processes_asked_for(
    query_rows: QueryRows, processes: tuple[int, ...] | None
) -> None:
    kernel = """
        process_id, device_id, start_ns, end_ns
        0,          0,               10,     20
        1,          0,                0,      5
        1,          0,               30,     35
    """
    (row,) = query_rows("gpu.idle_attribution", kernel=kernel, processes=processes)
    assert row["not_computing_ns"] == (25 if processes else 15)


def test_a_run_without_kernels_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("gpu.idle_attribution") == []
