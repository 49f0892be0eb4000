"""annotations.kernels: kernels by the ranges in which they were launched."""

import random

import pytest

from tests.conftest import QueryRows
from tests.support.tables import Row, only, table

# Process 0, thread 0: step [0, 100) with load [10, 30), copy [30, 60) touching it, and
# a range of another domain that crosses both; thread 1 has no ranges; process 1 has one
# that never ends.
RANGES = """
    process_id, thread_id, kind,      domain, text,  start_ns, end_ns
    0,          0,         push_pop,  NULL,   step,         0,    100
    0,          0,         push_pop,  NULL,   load,        10,     30
    0,          0,         push_pop,  NULL,   copy,        30,     60
    0,          0,         push_pop,  LIB,    cross,       20,     50
    0,          0,         push_pop,  NULL,   empty,       70,     70
    0,          0,         start_end, NULL,   other,        0,    200
    0,          0,         mark,      NULL,   mark,        12,   NULL
    1,          2,         push_pop,  NULL,   open,        40,   NULL
"""
CALLS = """
    process_id, thread_id, name,   correlation_id, start_ns, end_ns
    0,          0,         launch,              1,       12,     14
    0,          0,         launch,              2,       22,     24
    0,          0,         launch,              3,       30,     32
    0,          0,         launch,              4,       55,     60
    0,          0,         launch,              5,       70,     72
    0,          0,         launch,              6,      100,    110
    0,          1,         launch,              7,       12,     14
    1,          2,         launch,              1,       12,     14
    1,          2,         launch,              2,      900,    910
"""
KERNELS = """
    process_id, device_id, correlation_id, name, short_name, canonical_name, start_ns, end_ns
    0,          0,         1,              k1,   k,          c,                   200,    210
    0,          0,         2,              k1,   k,          c,                   210,    240
    0,          0,         3,              k2,   k,          c,                   240,    250
    0,          0,         4,              k1,   k,          c,                   250,    251
    0,          0,         5,              k1,   k,          c,                   251,    253
    0,          0,         6,              k1,   k,          c,                   253,    257
    0,          0,         7,              k1,   k,          c,                   257,    262
    1,          1,         1,              k1,   k,          c,                    30,     36
    1,          1,         2,              k1,   k,          c,                   930,    937
    0,          0,         99,             lost, lost,       lost,                600,    900
"""  # noqa: E501 - a table is read across
TABLES = {"annotation": RANGES, "api_call": CALLS, "kernel": KERNELS}
NAMED = ["range_name", "process_id", "thread_id", "kernel_name", "total_ns"]


def test_a_kernel_counts_in_its_innermost_range(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.kernels", TABLES)
    assert only(rows, [*NAMED, "kind", "instances", "launches"]) == table("""
        range_name, process_id, thread_id, kernel_name, total_ns, kind,     instances, launches
        LIB:cross,           0,         0, k1,                30, push_pop,         1,        1
        :copy,               0,         0, k2,                10, push_pop,         1,        1
        :load,               0,         0, k1,                10, push_pop,         1,        1
        :open,               1,         2, k1,                 7, push_pop,         1,        1
        NULL,                1,         2, k1,                 6, NULL,             0,        1
        NULL,                0,         1, k1,                 5, NULL,             0,        1
        NULL,                0,         0, k1,                 4, NULL,             0,        1
        :step,               0,         0, k1,                 2, push_pop,         1,        1
        :copy,               0,         0, k1,                 1, push_pop,         1,        1
    """)  # noqa: E501 - a table is read across


def test_a_kernel_counts_in_every_enclosing_range(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.kernels", TABLES, parameters={"ranges": "enclosing"})
    assert only(rows, [*NAMED, "launches"]) == table("""
        range_name, process_id, thread_id, kernel_name, total_ns, launches
        :step,               0,         0, k1,                43,        4
        :load,               0,         0, k1,                40,        2
        LIB:cross,           0,         0, k1,                30,        1
        :copy,               0,         0, k2,                10,        1
        :step,               0,         0, k2,                10,        1
        LIB:cross,           0,         0, k2,                10,        1
        :open,               1,         2, k1,                 7,        1
        NULL,                1,         2, k1,                 6,        1
        NULL,                0,         1, k1,                 5,        1
        NULL,                0,         0, k1,                 4,        1
        :copy,               0,         0, k1,                 1,        1
    """)


def test_durations_are_summed_up(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "annotations.kernels",
        TABLES,
        parameters={"ranges": "enclosing", "limit": 1},
    )
    assert row == {
        "range_name": ":step",
        "kind": "push_pop",
        "process_id": 0,
        "thread_id": 0,
        "kernel_name": "k1",
        "instances": 1,
        "launches": 4,
        "total_ns": 43,
        "mean_ns": 10.75,
        "median_ns": 6.0,
        "min_ns": 1,
        "max_ns": 30,
        "stddev_ns": 13.451,
    }


@pytest.mark.parametrize(("names", "name"), [("short", "k"), ("canonical", "c")])
def test_names_tell_kernels_apart(query_rows: QueryRows, names: str, name: str) -> None:
    rows = query_rows("annotations.kernels", TABLES, parameters={"names": names})
    copies = [row for row in rows if row["range_name"] == ":copy"]
    assert only(copies, ["kernel_name", "launches", "total_ns"]) == [
        {"kernel_name": name, "launches": 2, "total_ns": 11}
    ]


def test_identical_ranges_each_enclose(query_rows: QueryRows) -> None:
    ranges = """
        annotation_id, process_id, thread_id, kind,     text, start_ns, end_ns
        0,             0,          0,         push_pop, a,           0,    100
        1,             0,          0,         push_pop, b,           0,    100
    """
    tables = {**TABLES, "annotation": ranges}
    inner = query_rows("annotations.kernels", tables, processes=(0,))
    assert {row["range_name"] for row in inner if row["thread_id"] == 0} == {":b", None}
    outer = query_rows(
        "annotations.kernels", tables, parameters={"ranges": "enclosing"}
    )
    launches = {
        row["range_name"]: row["launches"]
        for row in outer
        if row["thread_id"] == 0
        if row["kernel_name"] == "k1"
    }
    assert launches == {":a": 4, ":b": 4, None: 1}


def test_kernels_of_a_graph_count_each(query_rows: QueryRows) -> None:
    kernels = "process_id, device_id, correlation_id, name, start_ns, end_ns\n"
    kernels += "\n".join(f"0, 0, 1, node, {200 + n}, {201 + n}" for n in range(5))
    (row,) = query_rows("annotations.kernels", {**TABLES, "kernel": kernels})
    assert (row["launches"], row["instances"], row["total_ns"]) == (5, 1, 5)


def test_graphs_traced_as_a_whole_are_no_kernels(query_rows: QueryRows) -> None:
    graph = """
        process_id, device_id, correlation_id, graph_id, start_ns, end_ns
        0,          0,         1,                     3,      100,    900
    """
    rows = query_rows("annotations.kernels", {**TABLES, "graph_launch": graph})
    assert rows == query_rows("annotations.kernels", TABLES)


def test_a_window_takes_kernels_that_start_inside(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.kernels", TABLES, window="240:252")
    assert only(rows, ["range_name", "total_ns"]) == table("""
        range_name, total_ns
        :copy,            10
        :step,             2
        :copy,             1
    """)


def test_a_range_takes_what_was_launched_inside(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.kernels", TABLES, window="range:load")
    assert only(rows, ["range_name", "thread_id", "total_ns"]) == table("""
        range_name, thread_id, total_ns
        LIB:cross,          0,       30
        :load,              0,       10
        NULL,               1,        5
    """)


def test_only_the_devices_and_processes_asked_for(query_rows: QueryRows) -> None:
    by_device = query_rows("annotations.kernels", TABLES, devices=(1,))
    by_process = query_rows("annotations.kernels", TABLES, processes=(1,))
    assert [row["range_name"] for row in by_device] == [":open", None]
    assert by_process == by_device


def test_each_rank_has_rows_of_its_own(query_rows: QueryRows) -> None:
    rows = query_rows(
        "annotations.kernels", TABLES, parameters={"limit": 1}, ranks={1: TABLES}
    )
    assert [(row["rank"], row["total_ns"]) for row in rows] == [(0, 30), (1, 30)]


def test_without_ranges_kernels_are_outside(query_rows: QueryRows) -> None:
    rows = query_rows("annotations.kernels", kernel=KERNELS, api_call=CALLS)
    assert {row["range_name"] for row in rows} == {None}
    assert sum(row["launches"] for row in rows) == 9
    assert query_rows("annotations.kernels") == []
    assert query_rows("annotations.kernels", annotation=RANGES) == []


def nested(chance: random.Random, begin: int, end: int, depth: int) -> list[list[int]]:
    """Return random ranges that nest, touch or are empty."""
    found = []
    at = begin
    while at < end and depth < 5:
        start = at + chance.randrange(0, 6)
        stop = min(end, start + chance.randrange(0, 25))
        if start > stop:
            break
        found.append([start, stop])
        found += nested(chance, start, stop, depth + 1)
        at = stop + chance.randrange(0, 3)
    return found


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("mode", ["innermost", "enclosing"])
def test_random_ranges_equal_a_search_through_all(
    query_rows: QueryRows, seed: int, mode: str
) -> None:
    chance = random.Random(seed)
    ranges: list[tuple[int, int, str, int, int]] = []
    for process, thread in ((0, 0), (0, 1), (1, 0)):
        for domain in chance.sample(["NULL", "A", "B"], chance.randrange(1, 4)):
            for start, end in sorted(
                nested(chance, 0, 90, 0), key=lambda r: (r[0], -r[1])
            ):
                ranges.append((process, thread, domain, start, end))
    ends: dict[tuple[int, int], list[int]] = {(p, t): [] for p, t, *_ in ranges}
    for p, t, _, start, end in ranges:
        ends[p, t] += [start, end]
    calls: list[tuple[int, int, int, int, int]] = []
    for process, thread in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at = 0
        while at < 100:
            # A thread cannot end a range while it makes a call.
            stop = min(
                [e for e in ends.get((process, thread), []) if e > at] + [at + 4]
            )
            calls.append((process, thread, len(calls) + 1, at, stop))
            at = stop
    annotation = (
        "annotation_id, process_id, thread_id, kind, domain, text, start_ns, end_ns\n"
    )
    annotation += "\n".join(
        f"{n}, {p}, {t}, push_pop, {d}, r{n}, {s}, {e}"
        for n, (p, t, d, s, e) in enumerate(ranges)
    )
    rows = query_rows(
        "annotations.kernels",
        parameters={"limit": 0, "ranges": mode},
        annotation=annotation,
        api_call="process_id, thread_id, name, correlation_id, start_ns, end_ns\n"
        + "\n".join(f"{p}, {t}, f, {c}, {s}, {e}" for p, t, c, s, e in calls),
        kernel="process_id, device_id, correlation_id, name, start_ns, end_ns\n"
        + "\n".join(f"{p}, 0, {c}, k{c}, {c}, {c + 1}" for p, _, c, _, _ in calls),
    )
    expected: set[tuple[str, int, int, str | None]] = set()
    for process, thread, number, start, end in calls:
        inside = [
            (s, -e, n, ("" if d == "NULL" else d) + f":r{n}")
            for n, (p, t, d, s, e) in enumerate(ranges)
            if (p, t) == (process, thread) and s <= start and end <= e and s < e
        ]
        chosen = sorted(inside)[-1:] if mode == "innermost" else inside
        names: list[str | None] = [r[3] for r in chosen]
        for name in names or [None]:
            expected.add((f"k{number}", process, thread, name))
    found: list[Row] = rows
    keys = ["kernel_name", "process_id", "thread_id", "range_name"]
    assert len(found) == len(expected)
    assert {tuple(row[k] for k in keys) for row in found} == expected
