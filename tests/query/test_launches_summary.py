"""launches.summary: statistics of call, queue and kernel time."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

KERNELS = """
    process_id, device_id, correlation_id, name,  canonical_name, short_name, start_ns, end_ns
    0,          0,         1,              gemm1, gemm<1>,        gemm,             30,     50
    0,          0,         2,              gemm1, gemm<1>,        gemm,            130,    170
    0,          0,         3,              gemm2, gemm<2>,        gemm,            205,    206
    1,          1,         1,              gemm1, gemm<1>,        gemm,             90,     95
    0,          0,         9,              gemm1, gemm<1>,        gemm,            900,    999
"""  # noqa: E501 - a table is read across
CALLS = """
    process_id, thread_id, domain,    name,             correlation_id, start_ns, end_ns
    0,          0,         runtime,   cudaLaunchKernel,              1,       10,     20
    0,          0,         backtrace, cudaLaunchKernel,              1,        5,     29
    0,          0,         runtime,   cudaLaunchKernel,              2,      100,    125
    0,          0,         runtime,   cudaLaunchKernel,              3,      200,    230
    1,          2,         runtime,   cudaLaunchKernel,              1,       60,     70
"""
SHORT = ["process_id", "kernel_name", "launches"]


def test_times_of_launches(query_rows: QueryRows) -> None:
    rows = query_rows("launches.summary", kernel=KERNELS, api_call=CALLS)
    # gemm1 of process 0: total 40 and 70, call 10 and 25, queue 10 and 5, kernel 20
    # and 40. gemm2 began and ended before its call had returned: total is the call.
    assert rows == table("""
        process_id, thread_id, device_id, api_name,         kernel_name, launches, queued, total_mean_ns, total_median_ns, total_min_ns, total_max_ns, total_stddev_ns, api_mean_ns, api_median_ns, api_min_ns, api_max_ns, api_stddev_ns, queue_mean_ns, queue_median_ns, queue_min_ns, queue_max_ns, queue_stddev_ns, kernel_mean_ns, kernel_median_ns, kernel_min_ns, kernel_max_ns, kernel_stddev_ns
        0,          0,         0,         cudaLaunchKernel, gemm1,              2,      2,          55.0,            55.0,           40,           70,          21.213,        17.5,          17.5,         10,         25,        10.607,           7.5,             7.5,            5,           10,           3.536,           30.0,             30.0,            20,            40,           14.142
        1,          2,         1,         cudaLaunchKernel, gemm1,              1,      1,          35.0,            35.0,           35,           35,             0.0,        10.0,          10.0,         10,         10,           0.0,          20.0,            20.0,           20,           20,             0.0,            5.0,              5.0,             5,             5,              0.0
        0,          0,         0,         cudaLaunchKernel, gemm2,              1,      0,          30.0,            30.0,           30,           30,             0.0,        30.0,          30.0,         30,         30,           0.0,          NULL,            NULL,         NULL,         NULL,            NULL,            1.0,              1.0,             1,             1,              0.0
    """)  # noqa: E501 - a table is read across


def test_a_kernel_that_starts_as_its_call_returns_was_not_queued(
    query_rows: QueryRows,
) -> None:
    (row,) = query_rows(
        "launches.summary",
        kernel="""
            process_id, device_id, correlation_id, name, start_ns, end_ns
            0,          0,         1,              k,          20,     50
        """,
        api_call=CALLS,
    )
    assert (row["launches"], row["queued"], row["queue_min_ns"]) == (1, 0, None)


def test_queue_times_are_of_the_queued_alone(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.summary",
        parameters={"names": "short"},
        kernel=KERNELS,
        api_call=CALLS,
    )
    columns = ["process_id", "kernel_name", "launches", "queued", "queue_mean_ns"]
    assert only(rows, columns) == table("""
        process_id, kernel_name, launches, queued, queue_mean_ns
        0,          gemm,               3,      2,           7.5
        1,          gemm,               1,      1,          20.0
    """)


def test_canonical_names_tell_kinds_apart(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.summary",
        parameters={"names": "canonical"},
        kernel=KERNELS,
        api_call=CALLS,
    )
    assert [row["kernel_name"] for row in rows] == ["gemm<1>", "gemm<1>", "gemm<2>"]


def test_threads_devices_and_functions_are_told_apart(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.summary",
        kernel="""
            process_id, device_id, correlation_id, name, start_ns, end_ns
            0,          0,         1,              k,         100,    110
            0,          0,         2,              k,         100,    120
            0,          1,         3,              k,         100,    130
            0,          0,         4,              k,         100,    140
        """,
        api_call="""
            process_id, thread_id, name,             correlation_id, start_ns, end_ns
            0,          0,         cudaLaunchKernel, 1,                     0,      1
            0,          1,         cudaLaunchKernel, 2,                     0,      1
            0,          0,         cudaLaunchKernel, 3,                     0,      1
            0,          0,         cuLaunchKernel,   4,                     0,      1
        """,
    )
    columns = ["thread_id", "device_id", "api_name", "total_max_ns"]
    assert only(rows, columns) == table("""
        thread_id, device_id, api_name,         total_max_ns
        0,         0,         cuLaunchKernel,            140
        0,         1,         cudaLaunchKernel,          130
        1,         0,         cudaLaunchKernel,          120
        0,         0,         cudaLaunchKernel,          110
    """)


def test_kernels_of_a_graph_count_each(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "launches.summary",
        kernel="""
            process_id, device_id, correlation_id, name, start_ns, end_ns
            0,          0,         1,              k,          50,     60
            0,          0,         1,              k,          70,     90
        """,
        api_call="""
            process_id, thread_id, name,            correlation_id, start_ns, end_ns
            0,          0,         cudaGraphLaunch, 1,                    10,     40
        """,
    )
    assert (row["launches"], row["total_min_ns"], row["total_max_ns"]) == (2, 50, 80)
    assert (row["api_min_ns"], row["api_max_ns"]) == (30, 30)


def test_copies_and_fills_are_no_launches(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.summary",
        kernel=KERNELS,
        memcpy="""
            process_id, device_id, correlation_id, copy_kind, start_ns, end_ns
            0,          0,         1,              HtoD,            30,     50
        """,
        api_call=CALLS,
    )
    assert sum(row["launches"] for row in rows) == 4


def test_the_limit_takes_the_longest(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.summary", parameters={"limit": 1}, kernel=KERNELS, api_call=CALLS
    )
    assert only(rows, SHORT) == [
        {"process_id": 0, "kernel_name": "gemm1", "launches": 2}
    ]


def test_a_window_takes_kernels_that_start_inside(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.summary", window="90:206", kernel=KERNELS, api_call=CALLS
    )
    assert only(rows, [*SHORT, "total_max_ns"]) == table("""
        process_id, kernel_name, launches, total_max_ns
        0,          gemm1,              1,           70
        1,          gemm1,              1,           35
        0,          gemm2,              1,           30
    """)


def test_a_range_takes_what_was_launched_inside(query_rows: QueryRows) -> None:
    rows = query_rows(
        "launches.summary",
        window="range:step",
        kernel=KERNELS,
        api_call=CALLS,
        annotation="""
            process_id, thread_id, kind,     text, start_ns, end_ns
            0,          0,         push_pop, step,       60,    110
        """,
    )
    assert only(rows, [*SHORT, "total_max_ns"]) == table("""
        process_id, kernel_name, launches, total_max_ns
        0,          gemm1,              1,           70
    """)


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    tables = {"kernel": KERNELS, "api_call": CALLS}
    by_device = query_rows("launches.summary", tables, devices=(1,))
    by_process = query_rows("launches.summary", tables, processes=(1,))
    assert [row["thread_id"] for row in by_device] == [2]
    assert by_process == by_device


def test_without_calls_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("launches.summary", kernel=KERNELS) == []
    assert query_rows("launches.summary") == []
