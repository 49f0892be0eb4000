"""quality.capture: what a capture lacks."""

import random

import pytest

from tests.conftest import MakeRun, QueryRows
from tests.support.tables import Row, table
from tracekit.errors import QueryError
from tracekit.query import load_module, run_module

API = "process_id, thread_id, domain, name, correlation_id, return_value, start_ns,"
API += " end_ns\n"
KERNEL = "process_id, device_id, correlation_id, name, start_ns, end_ns\n"
TABLES = {
    "kernel": """
        process_id, device_id, correlation_id, name, start_ns, end_ns
        0,          0,         1,              a,          10,     20
        0,          0,         2,              a,          20,     20
        0,          0,         2,              b,          30,     40
        0,          0,         9,              a,          50,     60
        0,          0,         NULL,           a,          60,     70
        1,          1,         1,              a,          10,     20
    """,
    "memcpy": """
        process_id, device_id, correlation_id, copy_kind, start_ns, end_ns
        1,          1,         2,              HtoD,            70,     80
    """,
    "graph_launch": """
        process_id, device_id, correlation_id, graph_id, start_ns, end_ns
        0,          0,         4,              1,              80,     90
    """,
    "api_call": """
        process_id, thread_id, domain,    name,                correlation_id, return_value, start_ns, end_ns
        0,          0,         runtime,   cudaLaunchKernel,                 1,            0,        1,      2
        0,          0,         driver,    cuLaunchKernel,                   1,            0,        1,      2
        0,          0,         runtime,   cudaGraphLaunch,                  2,            0,        2,      3
        0,          0,         runtime,   cudaGraphLaunch,                  4,            0,        3,      4
        0,          0,         runtime,   cudaLaunchKernel,                 5,            0,        4,      5
        0,          0,         runtime,   cudaLaunchKernel,                 6,            9,        4,      5
        0,          0,         runtime,   cudaLaunchHostFunc,               7,            0,        5,      6
        0,          0,         backtrace, cudaLaunchKernel,                 9,            0,        6,      7
        0,          0,         runtime,   cudaEventQuery,                  10,          600,        6,      7
        0,          0,         runtime,   cudaMalloc,                      11,            2,        6,      7
        0,          0,         runtime,   cudaMalloc,                      12,            2,        6,      7
        1,          1,         runtime,   cudaLaunchKernel,                 1,            0,        1,      2
    """,  # noqa: E501 - a table is read across
    "annotation": """
        process_id, thread_id, kind,      text, start_ns, end_ns
        0,          0,         push_pop,  a,           1,      9
        0,          0,         push_pop,  b,           2,   NULL
        0,          0,         start_end, c,           3,   NULL
        0,          0,         mark,      d,           4,   NULL
    """,
    "overhead": """
        process_id, thread_id, kind,         start_ns, end_ns
        0,          0,         buffer flush,       10,     30
        0,          0,         buffer flush,       20,     35
        0,          0,         JIT,                50,     60
    """,
    "rejected": """
        table_name,   reason,                      start_ns, end_ns
        graph_launch, the end is 0,                      10,      0
        kernel,       the end is before the start,       10,      5
        kernel,       the end is before the start,       20,      5
    """,
    "diagnostic": """
        time_ns, severity, source,    text
        1,       error,    profiler,  lost
        2,       info,     profiler,  began
        3,       info,     profiler,  ended
        4,       info,     converter, read
    """,
    "kernel_metric": """
        kernel_id, launch_index, tool, metric, value
        0,         0,            ncu,  a,          1
        0,         0,            ncu,  b,          2
        3,         0,            ncu,  a,          1
        NULL,      1,            ncu,  a,          1
        NULL,      1,            ncu,  b,          1
        NULL,      2,            ncu,  a,          1
        NULL,      NULL,         ncu,  total,      1
    """,
}


def test_what_is_found_is_counted(query_rows: QueryRows) -> None:
    rows = query_rows("quality.capture", TABLES)
    assert rows == table("""
        check_name,               severity, count, total_ns, detail
        kernels_without_launch,   warning,      2,         , of 6 kernels
        launches_without_work,    warning,      1,         , of 6 calls that launch
        ids_of_several_processes, info,         2,         , correlation ids of GPU activities
        ids_of_several_kernels,   info,         1,         , "correlation ids, of 2 kernels"
        open_ranges,              info,         2,         , of 3 ranges
        zero_durations,           info,         1,         , of 8 GPU activities
        graph_launches,           warning,      1,         , graphs traced as a whole: figures of kernels are lower bounds
        failed_calls,             warning,      3,         , "cudaMalloc returned 2 (2 x), cudaLaunchKernel returned 9 (1 x)"
        rejected_rows,            warning,      2,         , kernel: the end is before the start
        rejected_rows,            warning,      1,         , graph_launch: the end is 0
        diagnostics,              info,         2,         , messages of the profiler
        diagnostics,              error,        1,         , messages of the profiler
        diagnostics,              info,         1,         , messages of the converter
        profiler_overhead,        info,         2,       35, buffer flush
        profiler_overhead,        info,         1,       10, JIT
        counters_without_kernel,  warning,      2,         , of 3 measured launches
        kernels_without_counters, info,         4,         , of 6 kernels
    """)  # noqa: E501 - a table is read across


def test_a_check_that_cannot_be_made_says_why(query_rows: QueryRows) -> None:
    assert query_rows("quality.capture") == table("""
        check_name,               severity, count, total_ns, detail
        kernels_without_launch,   unknown,       ,         , no kernel was recorded
        launches_without_work,    unknown,       ,         , no API call was recorded
        ids_of_several_processes, unknown,       ,         , no GPU activity with a correlation id was recorded
        ids_of_several_kernels,   unknown,       ,         , no kernel with a correlation id was recorded
        open_ranges,              unknown,       ,         , no range was recorded
        zero_durations,           unknown,       ,         , no GPU activity was recorded
        graph_launches,           unknown,       ,         , no GPU activity was recorded
        failed_calls,             unknown,       ,         , no result of an API call was recorded
        rejected_rows,            ok,           0,         , no row was rejected
        diagnostics,              ok,           0,         , no message was recorded
        profiler_overhead,        unknown,       ,         , the profiler recorded no overhead of its own
        counters_without_kernel,  unknown,       ,         , no counters of kernels are here
        kernels_without_counters, unknown,       ,         , no counters of kernels are here
    """)  # noqa: E501 - a table is read across


def checks(rows: list[Row]) -> dict[str, tuple[str, int | None]]:
    return {row["check_name"]: (row["severity"], row["count"]) for row in rows}


def test_without_calls_launches_are_not_known(query_rows: QueryRows) -> None:
    rows = query_rows("quality.capture", kernel=KERNEL + "0, 0, 1, k, 0, 10")
    found = checks(rows)
    assert found["kernels_without_launch"] == ("unknown", None)
    assert rows[0]["detail"] == "no API call was recorded"
    assert found["zero_durations"] == ("ok", 0)


def test_calls_without_any_gpu_activity_are_told(query_rows: QueryRows) -> None:
    rows = query_rows(
        "quality.capture",
        api_call=API + "0, 0, runtime, cudaLaunchKernel, 1, 0, 0, 10",
    )
    found = checks(rows)
    assert found["launches_without_work"] == ("warning", 1)
    assert found["kernels_without_launch"] == ("unknown", None)
    assert found["failed_calls"] == ("ok", 0)


def test_calls_whose_result_was_not_recorded_are_no_failures(
    query_rows: QueryRows,
) -> None:
    rows = query_rows(
        "quality.capture",
        kernel=KERNEL + "0, 0, 1, k, 0, 10",
        api_call=API + "0, 0, runtime, cudaLaunchKernel, 1, NULL, 0, 10",
    )
    found = checks(rows)
    assert found["failed_calls"] == ("unknown", None)
    assert found["launches_without_work"] == ("ok", 0)
    assert found["kernels_without_launch"] == ("ok", 0)


def test_each_rank_has_rows_of_its_own(run_of: MakeRun) -> None:
    run = run_of(TABLES, ranks={1: {"kernel": KERNEL + "0, 0, 1, k, 0, 0"}})
    rows = run_module(load_module("quality.capture"), [run]).table.to_pylist()
    zero = {r["rank"]: r["count"] for r in rows if r["check_name"] == "zero_durations"}
    assert zero == {0: 1, 1: 1}
    of_one = [row for row in rows if row["rank"] == 1]
    assert of_one[0]["detail"] == "no API call was recorded"


def test_the_checks_are_of_the_whole_capture(query_rows: QueryRows) -> None:
    with pytest.raises(QueryError, match="has no --window"):
        query_rows("quality.capture", TABLES, window="0:10")


@pytest.mark.parametrize("seed", range(25))
def test_random_ids_equal_sets_of_ids(query_rows: QueryRows, seed: int) -> None:
    chance = random.Random(seed)
    ids = [chance.randrange(-40, 80) for _ in range(30)]
    work = [(chance.randrange(4), chance.choice(ids)) for _ in range(60)]
    copies = [(chance.randrange(4), chance.choice(ids)) for _ in range(5)]
    calls = [
        (
            chance.randrange(4),
            chance.choice(["cudaLaunchKernel", "cudaMalloc"]),
            chance.choice(ids),
            chance.choice([0, 0, 0, 1]),
        )
        for _ in range(60)
    ]
    rows = query_rows(
        "quality.capture",
        kernel=KERNEL + "\n".join(f"{p}, 0, {c}, k, 0, 1" for p, c in work),
        memset="process_id, device_id, correlation_id, start_ns, end_ns\n"
        + "\n".join(f"{p}, 0, {c}, 0, 1" for p, c in copies),
        api_call=API
        + "\n".join(f"{p}, 0, runtime, {n}, {c}, {r}, 0, 1" for p, n, c, r in calls),
    )
    found = {row["check_name"]: row for row in rows}
    called = {(p, c) for p, _, c, _ in calls}
    everything = {*work, *copies}
    shared = {key for key in work if work.count(key) > 1}
    expected = {
        "kernels_without_launch": sum(key not in called for key in work),
        "launches_without_work": sum(
            name == "cudaLaunchKernel" and not result and (p, c) not in everything
            for p, name, c, result in calls
        ),
        "ids_of_several_processes": sum(
            len({p for p, c in everything if c == number}) > 1 for number in set(ids)
        ),
        "ids_of_several_kernels": len(shared),
    }
    assert {name: found[name]["count"] for name in expected} == expected
    sharing = sum(key in shared for key in work)
    assert found["ids_of_several_kernels"]["detail"] == (
        f"correlation ids, of {sharing} kernels"
    )
