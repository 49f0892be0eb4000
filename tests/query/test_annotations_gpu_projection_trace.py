"""annotations.gpu_projection_trace: each range with the GPU work launched in it."""

import random

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table

# step [0, 100) with load [10, 30) and copy [30, 60), which touches it; start_end ranges
# that cross both; an empty range and a mark; a range of thread 1 and an open one of
# process 1.
RANGES = """
    annotation_id, process_id, thread_id, kind,      text,  start_ns, end_ns
    0,             0,          0,         push_pop,  step,         0,    100
    1,             0,          0,         start_end, cross,        5,     40
    2,             0,          0,         push_pop,  load,        10,     30
    3,             0,          0,         mark,      mark,        12,   NULL
    4,             0,          1,         push_pop,  other,       15,     50
    5,             0,          0,         push_pop,  copy,        30,     60
    6,             0,          0,         push_pop,  empty,       35,     35
    7,             1,          2,         push_pop,  open,        40,   NULL
    8,             0,          0,         push_pop,  idle,        70,     90
"""
CALLS = """
    process_id, thread_id, name,   correlation_id, start_ns, end_ns
    0,          0,         launch,              1,       12,     14
    0,          0,         graph,               2,       30,     32
    0,          0,         launch,              3,       58,     60
    0,          1,         launch,              4,       25,     31
    0,          0,         launch,              5,       99,    101
    1,          2,         launch,              1,       12,     14
    1,          2,         launch,              2,      900,    910
"""
KERNELS = """
    process_id, device_id, correlation_id, name, start_ns, end_ns
    0,          0,         1,              k,         200,    210
    0,          0,         3,              k,         250,    260
    0,          1,         3,              k,         240,    245
    0,          0,         4,              k,         150,    170
    0,          0,         5,              k,         900,    950
    1,          1,         2,              k,         930,    937
"""
GRAPHS = """
    process_id, device_id, correlation_id, graph_id, start_ns, end_ns
    0,          0,         2,                     7,      215,    300
"""
TABLES = {
    "annotation": RANGES,
    "api_call": CALLS,
    "kernel": KERNELS,
    "graph_launch": GRAPHS,
}
NAME = "annotations.gpu_projection_trace"
SHOWN = ["range_name", "gpu_start_ns", "gpu_ns", "operations"]


def test_a_range_spans_the_work_launched_inside(query_rows: QueryRows) -> None:
    assert query_rows(NAME, TABLES) == table("""
        range_name, kind,      process_id, thread_id, start_ns, duration_ns, gpu_start_ns, gpu_ns, operations, level, children, annotation_id, parent_id
        :step,      push_pop,           0,         0,        0,         100,          200,    100,          3,     0,        2,             0,      NULL
        :cross,     start_end,          0,         0,        5,          35,          200,    100,          2,  NULL,        0,             1,      NULL
        :load,      push_pop,           0,         0,       10,          20,          200,     10,          1,     1,        0,             2,         0
        :other,     push_pop,           0,         1,       15,          35,          150,     20,          1,     0,        0,             4,      NULL
        :copy,      push_pop,           0,         0,       30,          30,          215,     85,          2,     1,        0,             5,         0
        :open,      push_pop,           1,         2,       40,        NULL,          930,      7,          1,     0,        0,             7,      NULL
    """)  # noqa: E501 - a table is read across


def test_graphs_traced_as_a_whole_can_be_left_out(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, TABLES, parameters={"graph_launches": "exclude"})
    assert only(rows, SHOWN) == table("""
        range_name, gpu_start_ns, gpu_ns, operations
        :step,               200,     60,          2
        :cross,              200,     10,          1
        :load,               200,     10,          1
        :other,              150,     20,          1
        :copy,               240,     20,          1
        :open,               930,      7,          1
    """)


def test_launches_of_the_whole_process_can_count(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, TABLES, parameters={"launched_by": "process"})
    # The call of thread 1, from 25 to 31, lies in step, cross and other as a whole; and
    # the one that begins at 99 in none.
    assert only(rows, SHOWN) == table("""
        range_name, gpu_start_ns, gpu_ns, operations
        :step,               150,    150,          4
        :cross,              150,    150,          3
        :load,               200,     10,          1
        :other,              150,    150,          2
        :copy,               215,     85,          2
        :open,               930,      7,          1
    """)


def test_kernels_of_a_graph_are_one_operation(query_rows: QueryRows) -> None:
    kernels = "process_id, device_id, correlation_id, name, start_ns, end_ns\n"
    kernels += "\n".join(f"0, 0, 2, node, {200 + n}, {203 + n}" for n in range(5))
    rows = query_rows(
        NAME, {"annotation": RANGES, "api_call": CALLS, "kernel": kernels}
    )
    assert only(rows, SHOWN) == table("""
        range_name, gpu_start_ns, gpu_ns, operations
        :step,               200,      7,          1
        :cross,              200,      7,          1
        :copy,               200,      7,          1
    """)


def test_identical_ranges_nest(query_rows: QueryRows) -> None:
    ranges = """
        annotation_id, process_id, thread_id, kind,     text, start_ns, end_ns
        0,             0,          0,         push_pop, a,          12,     14
        1,             0,          0,         push_pop, b,          12,     14
    """
    rows = query_rows(NAME, {**TABLES, "annotation": ranges})
    columns = ["range_name", "operations", "level", "children", "parent_id"]
    assert only(rows, columns) == table("""
        range_name, operations, level, children, parent_id
        :a,                  1,     0,        1,      NULL
        :b,                  1,     1,        0,         0
    """)


def test_a_window_takes_ranges_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, TABLES, window="10:30")
    assert [(row["range_name"], row["gpu_ns"]) for row in rows] == [
        (":load", 10),
        (":other", 20),
    ]
    rows = query_rows(NAME, TABLES, window="range:cross")
    assert [row["range_name"] for row in rows] == [":cross", ":load", ":other", ":copy"]


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, TABLES, devices=(1,))
    assert only(rows, SHOWN) == table("""
        range_name, gpu_start_ns, gpu_ns, operations
        :step,               240,      5,          1
        :copy,               240,      5,          1
        :open,               930,      7,          1
    """)
    rows = query_rows(NAME, TABLES, processes=(1,))
    assert [row["range_name"] for row in rows] == [":open"]


def test_each_rank_has_rows_of_its_own(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, TABLES, parameters={"limit": 1}, ranks={1: TABLES})
    assert [(row["rank"], row["range_name"]) for row in rows] == [
        (0, ":step"),
        (1, ":step"),
    ]


def test_without_work_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows(NAME) == []
    assert query_rows(NAME, annotation=RANGES, api_call=CALLS) == []
    assert query_rows(NAME, kernel=KERNELS, api_call=CALLS) == []


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("mode", ["thread", "process"])
def test_random_ranges_equal_a_search_through_all_calls(
    query_rows: QueryRows, seed: int, mode: str
) -> None:
    chance = random.Random(seed)
    ranges = [
        (chance.randrange(2), chance.randrange(2), start, start + chance.randrange(60))
        for start in sorted(chance.choices(range(150), k=chance.randrange(1, 40)))
    ]
    calls: list[tuple[int, int, int, int, int, int, int]] = []
    for process in range(2):
        for thread in range(2):
            at = chance.randrange(20)
            while at < 200:
                end = at + chance.randrange(1, 20)
                gpu = chance.randrange(1000)
                work = (gpu, gpu + chance.randrange(50))
                calls.append((process, thread, len(calls) + 1, at, end, *work))
                at = end + chance.randrange(4)
    rows = query_rows(
        NAME,
        parameters={"limit": 0, "launched_by": mode},
        annotation="annotation_id, process_id, thread_id, kind, text,"
        " start_ns, end_ns\n"
        + "\n".join(
            f"{n}, {p}, {t}, start_end, r, {s}, {e}"
            for n, (p, t, s, e) in enumerate(ranges)
        ),
        api_call="process_id, thread_id, name, correlation_id, start_ns, end_ns\n"
        + "\n".join(f"{p}, {t}, f, {c}, {s}, {e}" for p, t, c, s, e, *_ in calls),
        kernel="process_id, device_id, correlation_id, name, start_ns, end_ns\n"
        + "\n".join(f"{p}, 0, {c}, k, {b}, {f}" for p, _, c, _, _, b, f in calls),
    )
    expected = {}
    for number, (process, thread, start, end) in enumerate(ranges):
        inside = [
            (begin, finish)
            for p, t, _, s, e, begin, finish in calls
            if p == process and (mode == "process" or t == thread)
            if start <= s and e <= end
        ]
        if inside:
            first, last = min(b for b, _ in inside), max(f for _, f in inside)
            expected[number] = (first, last - first, len(inside))
    found = {
        row["annotation_id"]: (row["gpu_start_ns"], row["gpu_ns"], row["operations"])
        for row in rows
    }
    assert found == expected
