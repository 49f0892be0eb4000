"""gpu.idle_gaps: what lies between the intervals of a union."""

import random

import pytest

from tests.conftest import QueryRows
from tests.support.tables import only, table

COLUMNS = "device_id, process_id, stream_id, name, start_ns, end_ns"
SPANS = ["start_ns", "end_ns", "duration_ns"]
ALL = {"limit": 0}


def kernels(*rows: str) -> str:
    return "\n".join((COLUMNS, *rows))


def test_gaps_come_longest_first_with_what_stands_beside_them(
    query_rows: QueryRows,
) -> None:
    rows = query_rows(
        "gpu.idle_gaps",
        kernel=kernels("0, 0, 7, gemm, 0, 10", "0, 0, 7, relu, 15, 20"),
        memcpy="""
            device_id, process_id, copy_kind, start_ns, end_ns
            0,         0,          HtoD,            40,     50
        """,
        memset="""
            device_id, process_id, memory_kind, start_ns, end_ns
            0,         0,          device,            52,     55
        """,
        graph_launch="""
            device_id, process_id, graph_id, start_ns, end_ns
            0,         0,          3,              58,     60
        """,
    )
    assert rows == table("""
        device_id, start_ns, end_ns, duration_ns, before_activity, before_name, after_activity, after_name
        0,               20,     40,          20, kernel,          relu,        memcpy,         HtoD
        0,               10,     15,           5, kernel,          gemm,        kernel,         relu
        0,               55,     58,           3, memset,          device,      graph_launch,   graph 3
        0,               50,     52,           2, memcpy,          HtoD,        memset,         device
    """)  # noqa: E501 - a table is read across


@pytest.mark.parametrize(
    ("rows", "gaps"),
    [
        (("0, 0, 7, a, 0, 10", "0, 0, 7, b, 10, 20"), []),  # touching
        (("0, 0, 7, a, 0, 20", "0, 0, 8, b, 5, 10"), []),  # nested
        (("0, 0, 7, a, 0, 20", "0, 0, 8, b, 0, 20"), []),  # identical
        (("0, 0, 7, a, 0, 20", "0, 0, 8, b, 5, 10", "0, 0, 7, c, 30, 40"), [(20, 30)]),
        (("0, 0, 7, a, 30, 40", "0, 0, 7, b, 0, 10"), [(10, 30)]),  # not in order
        (("0, 0, 7, a, 0, 10", "0, 0, 7, b, 15, 15", "0, 0, 7, c, 20, 30"), [(10, 20)]),
    ],
)
def test_gaps_lie_between_the_intervals_of_the_union(
    query_rows: QueryRows, rows: tuple[str, ...], gaps: list[tuple[int, int]]
) -> None:
    found = query_rows("gpu.idle_gaps", kernel=kernels(*rows))
    assert [(row["start_ns"], row["end_ns"]) for row in found] == gaps


def test_what_ended_last_stands_before_a_gap(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "gpu.idle_gaps",
        kernel=kernels(
            "0, 0, 7, long, 0, 20", "0, 0, 8, inside, 5, 10", "0, 0, 7, after, 30, 40"
        ),
    )
    assert (row["before_name"], row["after_name"]) == ("long", "after")


def test_of_several_at_once_the_longest_is_named(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "gpu.idle_gaps",
        kernel=kernels(
            "0, 0, 7, a, 5, 20",
            "0, 0, 8, b, 0, 20",
            "0, 0, 9, empty, 20, 20",
            "0, 0, 7, c, 30, 35",
            "0, 0, 8, d, 30, 40",
            "0, 0, 9, empty, 30, 30",
        ),
    )
    assert (row["before_name"], row["after_name"]) == ("b", "d")


def test_devices_have_gaps_of_their_own(query_rows: QueryRows) -> None:
    kernel = kernels(
        "0, 0, 7, a, 0, 10",
        "1, 1, 7, b, 10, 20",
        "0, 0, 7, c, 20, 30",
        "1, 1, 7, d, 25, 30",
    )
    rows = query_rows("gpu.idle_gaps", kernel=kernel)
    columns = ["device_id", "start_ns", "end_ns", "before_name", "after_name"]
    assert only(rows, columns) == table("""
        device_id, start_ns, end_ns, before_name, after_name
        0,               10,     20, a,           c
        1,               20,     25, b,           d
    """)
    assert query_rows("gpu.idle_gaps", devices=(1,), kernel=kernel) == rows[1:]


def test_the_edges_of_a_window_bound_gaps(query_rows: QueryRows) -> None:
    kernel = kernels("0, 0, 7, a, 0, 10", "0, 0, 7, b, 20, 30", "0, 0, 7, c, 60, 90")
    rows = query_rows("gpu.idle_gaps", window="12:50", kernel=kernel)
    columns = [*SPANS, "before_name", "after_name"]
    assert only(rows, columns) == table("""
        start_ns, end_ns, duration_ns, before_name, after_name
              30,     50,          20, b,           NULL
              12,     20,           8, NULL,        b
    """)
    rows = query_rows("gpu.idle_gaps", window="5:70", kernel=kernel)
    assert only(rows, columns) == table("""
        start_ns, end_ns, duration_ns, before_name, after_name
              30,     60,          30, b,           c
              10,     20,          10, a,           b
    """)


def test_a_window_without_work_is_one_gap(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        "gpu.idle_gaps",
        window="12:18",
        kernel=kernels("0, 0, 7, a, 0, 10", "0, 0, 7, b, 20, 30"),
    )
    assert (row["start_ns"], row["end_ns"]) == (12, 18)
    assert row["before_activity"] is row["after_activity"] is None


def test_the_run_window_reaches_beyond_a_device(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.idle_gaps",
        window="run",
        kernel=kernels("0, 0, 7, a, 0, 100", "1, 0, 7, b, 30, 90"),
    )
    assert only(rows, ["device_id", *SPANS, "before_name", "after_name"]) == table("""
        device_id, start_ns, end_ns, duration_ns, before_name, after_name
        1,                0,     30,          30, NULL,        b
        1,               90,    100,          10, b,           NULL
    """)


def test_time_between_two_ranges_is_no_gap(query_rows: QueryRows) -> None:
    rows = query_rows(
        "gpu.idle_gaps",
        window="range:step",
        kernel=kernels("0, 0, 7, a, 10, 15", "0, 0, 7, b, 45, 55"),
        annotation="""
            process_id, thread_id, kind,     text, start_ns, end_ns
            0,          0,         push_pop, step,       10,     20
            0,          0,         push_pop, step,       40,     50
        """,
    )
    assert only(rows, [*SPANS, "before_name", "after_name"]) == table("""
        start_ns, end_ns, duration_ns, before_name, after_name
              15,     20,           5, a,           NULL
              40,     45,           5, NULL,        b
    """)


def test_work_of_other_processes_fills_no_gap(query_rows: QueryRows) -> None:
    kernel = kernels("0, 0, 7, a, 0, 10", "0, 1, 7, b, 10, 20", "0, 0, 7, c, 20, 30")
    assert query_rows("gpu.idle_gaps", kernel=kernel) == []
    rows = query_rows("gpu.idle_gaps", processes=(0,), kernel=kernel)
    assert only(rows, SPANS) == [{"start_ns": 10, "end_ns": 20, "duration_ns": 10}]


def test_short_gaps_and_those_beyond_the_limit_are_left_out(
    query_rows: QueryRows,
) -> None:
    starts = [n * (n + 21) // 2 for n in range(30)]  # gaps of 1, 2, ..., 29 ns
    kernel = kernels(*(f"0, 0, 7, k, {start}, {start + 10}" for start in starts))

    def lengths(**parameters: int) -> list[int]:
        rows = query_rows("gpu.idle_gaps", parameters=parameters, kernel=kernel)
        return [row["duration_ns"] for row in rows]

    assert lengths() == list(range(29, 9, -1))
    assert lengths(limit=0) == list(range(29, 0, -1))
    assert lengths(limit=2) == [29, 28]
    assert lengths(limit=0, min_ns=28) == [29, 28]


def test_a_run_without_gpu_work_has_no_gaps(query_rows: QueryRows) -> None:
    assert query_rows("gpu.idle_gaps") == []


@pytest.mark.parametrize("window", [None, "run", "20:90", "40:", "range:step"])
@pytest.mark.parametrize("seed", range(8))
def test_gaps_and_busy_time_are_the_window(
    query_rows: QueryRows, seed: int, window: str | None
) -> None:
    chance = random.Random(seed)
    work = []
    for _ in range(chance.randrange(2, 14)):
        start = chance.randrange(0, 120)
        work.append((chance.randrange(2), start, start + chance.randrange(0, 15)))
    tables = {
        "kernel": kernels(*(f"{d}, 0, 7, k, {s}, {e}" for d, s, e in work)),
        "annotation": "process_id, thread_id, kind, text, start_ns, end_ns\n"
        "0, 0, push_pop, step, 10, 40\n0, 0, push_pop, step, 30, 55\n"
        "0, 0, push_pop, step, 80, 100",
    }
    first, last = min(s for _, s, _ in work), max(e for _, _, e in work)
    rows = query_rows("gpu.idle_gaps", tables, window=window, parameters=ALL)
    totals = query_rows("gpu.utilization", tables, window=window)
    devices = sorted({device for device, _, _ in work})
    assert [row["device_id"] for row in totals] == devices
    for device, total in zip(devices, totals, strict=True):
        mine = [(s, e) for d, s, e in work if d == device]
        end = max(e for _, e in mine)
        inside = {
            None: range(min(s for s, _ in mine), end),
            "run": range(first, last),
            "20:90": range(20, 90),
            "40:": range(40, end),
            "range:step": [*range(10, 55), *range(80, 100)],
        }[window]
        busy = {ns for start, stop in mine for ns in range(start, stop)}
        idle = set(inside) - busy
        gaps = [r for r in rows if r["device_id"] == device]
        found = [ns for r in gaps for ns in range(r["start_ns"], r["end_ns"])]
        assert sorted(found) == sorted(idle)
        # No gap goes on where another ends, but for the edge of a window.
        starts = {r["start_ns"] for r in gaps}
        assert not starts & {r["end_ns"] for r in gaps}
        spent = sum(r["duration_ns"] for r in gaps)
        assert spent + total["gpu_busy_ns"] == total["window_ns"]
