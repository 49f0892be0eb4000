"""cpu.utilization: time on cores, of the traced processes and of all."""

from tests.conftest import QueryRows
from tests.support.tables import table

SLICES = """
    host, cpu, process_id, thread_id, start_ns, end_ns
    a,      0,          0,         0,      -20,     40
    a,      1,          0,         1,       20,     60
    a,      1,          5,         9,       60,     90
    a,      2,          7,        10,        0,    100
    a,      3,          0,         2,       90,   NULL
"""
PROCESS = "process_id, os_pid\n0, 100\n5, 105\n7, 0"
KERNEL = "process_id, device_id, start_ns, end_ns\n0, 0, 0, 100"
TABLES = {"cpu_slice": SLICES, "process": PROCESS, "kernel": KERNEL}


def test_traced_processes_and_all_of_them(query_rows: QueryRows) -> None:
    rows = query_rows("cpu.utilization", TABLES, run_fact="key, value\ncpu_cores, 10")
    # Traced: 40 + 40 + 10 ns; another process 30. Process 7 is the idle task.
    assert rows == table("""
        host, cores, cores_source, window_ns, tree_ns, system_ns, tree_utilization, system_utilization, mean_cores
        a,       10, machine,            100,      90,       120,             0.09,               0.12,        0.9
    """)  # noqa: E501 - a table is read across


def test_cores_that_the_user_tells_come_first(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "cpu.utilization",
        TABLES,
        parameters={"cores": 2},
        run_fact="key, value\ncpu_cores, 8",
    )
    assert (row["cores"], row["cores_source"]) == (2, "parameter")
    assert row["tree_utilization"] == 0.45
    (row,) = query_rows("cpu.utilization", TABLES)
    assert (row["cores"], row["cores_source"]) == (3, "seen")


def test_where_only_traced_processes_were_recorded_the_rest_is_not_known(
    query_rows: QueryRows,
) -> None:
    slices = "host, cpu, process_id, start_ns, end_ns\na, 0, 0, 0, 40\na, 0, 0, 30, 50"
    (row,) = query_rows("cpu.utilization", cpu_slice=slices, kernel=KERNEL)
    assert (row["tree_ns"], row["system_ns"]) == (50, None)


def test_a_window_cuts_slices(query_rows: QueryRows) -> None:
    (row,) = query_rows("cpu.utilization", TABLES, window="30:95")
    assert (row["window_ns"], row["tree_ns"], row["system_ns"]) == (65, 45, 75)


def test_without_gpu_work_the_slices_make_the_window(query_rows: QueryRows) -> None:
    slices = "host, cpu, process_id, start_ns, end_ns\na, 0, 0, 10, 40\na, 1, 0, 30, 60"
    (row,) = query_rows(
        "cpu.utilization",
        cpu_slice=slices,
        os_call="process_id, name, start_ns, end_ns\n0, read, 0, 1",
    )
    assert (row["window_ns"], row["tree_ns"]) == (50, 60)


def test_a_run_without_slices_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("cpu.utilization", kernel=KERNEL) == []
