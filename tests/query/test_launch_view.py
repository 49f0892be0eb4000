"""The view launch: every activity once, with the call that launched it."""

import random

import duckdb
import pytest

from tests.conftest import MakeRun
from tests.support.tables import Row, only, table
from tracekit.query import run_sql
from tracekit.query.catalog import macros

CALL = ["thread_id", "call_domain", "call_name", "call_start_ns", "call_end_ns"]


def launches(run_of: MakeRun, **tables: str) -> list[Row]:
    answer = run_sql(
        "SELECT * FROM launch ORDER BY start_ns, process_id", [run_of(tables)]
    )
    rows: list[Row] = answer.table.to_pylist()
    return rows


def test_each_kind_of_activity_has_its_call(run_of: MakeRun) -> None:
    rows = launches(
        run_of,
        kernel="""
            process_id, device_id, correlation_id, name, start_ns, end_ns
            0,          0,         1,              gemm,       50,     60
        """,
        memcpy="""
            process_id, device_id, correlation_id, copy_kind, bytes, start_ns, end_ns
            0,          0,         2,              HtoD,          8,       60,     70
        """,
        memset="""
            process_id, device_id, correlation_id, memory_kind, bytes, start_ns, end_ns
            0,          0,         3,              device,          4,       70,     80
        """,
        graph_launch="""
            process_id, device_id, correlation_id, graph_id, start_ns, end_ns
            0,          0,         4,              9,              80,     90
        """,
        api_call="""
            process_id, thread_id, domain,  name,             correlation_id, start_ns, end_ns
            0,          0,         runtime, cudaLaunchKernel,              1,       10,     11
            0,          1,         runtime, cudaMemcpyAsync,               2,       20,     22
            0,          2,         driver,  cuMemsetD8Async,               3,       30,     33
            0,          3,         runtime, cudaGraphLaunch,               4,       40,     44
            0,          0,         runtime, cudaGetLastError,              5,       12,     13
        """,  # noqa: E501 - a table is read across
    )
    assert only(rows, ["activity", "name", "bytes", "graph_id", *CALL]) == table("""
        activity,     name,    bytes, graph_id, thread_id, call_domain, call_name,        call_start_ns, call_end_ns
        kernel,       gemm,     NULL,     NULL,         0, runtime,     cudaLaunchKernel,            10,          11
        memcpy,       HtoD,        8,     NULL,         1, runtime,     cudaMemcpyAsync,             20,          22
        memset,       device,      4,     NULL,         2, driver,      cuMemsetD8Async,             30,          33
        graph_launch, graph 9,  NULL,        9,         3, runtime,     cudaGraphLaunch,             40,          44
    """)  # noqa: E501 - a table is read across


KERNEL = """
    process_id, device_id, correlation_id, name, start_ns, end_ns
    0,          0,         1,              gemm,       50,     60
"""


@pytest.mark.parametrize(
    ("calls", "chosen"),
    [
        # A backtrace is no call, though it begins first.
        (
            ("0, 0, backtrace, f, 1, 9, 20", "0, 0, runtime, f, 1, 10, 15"),
            (0, "runtime", "f", 10, 15),
        ),
        (("0, 0, backtrace, f, 1, 9, 20",), (None, None, None, None, None)),
        # The outer one of two.
        (
            ("0, 0, driver, cuF, 1, 11, 14", "0, 0, runtime, cudaF, 1, 10, 15"),
            (0, "runtime", "cudaF", 10, 15),
        ),
        (
            ("0, 0, driver, cuF, 1, 10, 14", "0, 0, runtime, cudaF, 1, 10, 15"),
            (0, "runtime", "cudaF", 10, 15),
        ),
        (
            ("0, 0, driver, cuF, 1, 10, 15", "0, 0, runtime, cudaF, 1, 10, 15"),
            (0, "runtime", "cudaF", 10, 15),
        ),
        # Nothing but the thread, or the name, tells them apart.
        (
            ("0, 1, runtime, f, 1, 10, 15", "0, 0, runtime, g, 1, 10, 15"),
            (0, "runtime", "g", 10, 15),
        ),
        (
            ("0, 0, runtime, g, 1, 10, 15", "0, 0, runtime, f, 1, 10, 15"),
            (0, "runtime", "f", 10, 15),
        ),
        # The same row twice.
        (
            ("0, 0, runtime, f, 1, 10, 15", "0, 0, runtime, f, 1, 10, 15"),
            (0, "runtime", "f", 10, 15),
        ),
        # Another process has used the id, too.
        (
            ("1, 5, runtime, other, 1, 5, 6", "0, 0, runtime, f, 1, 10, 15"),
            (0, "runtime", "f", 10, 15),
        ),
        (("1, 5, runtime, other, 1, 5, 6",), (None, None, None, None, None)),
        # A domain that was not recorded.
        (("0, 0, NULL, f, 1, 10, 15",), (0, None, "f", 10, 15)),
        ((), (None, None, None, None, None)),
    ],
)
def test_one_call_is_chosen(
    run_of: MakeRun, calls: tuple[str, ...], chosen: tuple[object, ...]
) -> None:
    header = "process_id, thread_id, domain, name, correlation_id, start_ns, end_ns"
    for order in (calls, calls[::-1]):
        (row,) = launches(run_of, kernel=KERNEL, api_call="\n".join((header, *order)))
        assert tuple(row[name] for name in CALL) == chosen
        assert (row["name"], row["start_ns"], row["end_ns"]) == ("gemm", 50, 60)


def test_kernels_of_a_graph_share_the_call(run_of: MakeRun) -> None:
    rows = launches(
        run_of,
        kernel="""
            process_id, device_id, correlation_id, graph_node_id, name, start_ns, end_ns
            0,          0,         1,              10,            a,          50,     60
            0,          0,         1,              11,            b,          60,     70
            0,          0,         1,              12,            c,          70,     80
        """,
        api_call="""
            process_id, thread_id, domain,  name,            correlation_id, start_ns, end_ns
            0,          0,         runtime, cudaGraphLaunch,              1,       10,     40
            0,          0,         driver,  cuGraphLaunch,                1,       12,     38
        """,  # noqa: E501 - a table is read across
    )
    assert [(row["name"], row["call_name"]) for row in rows] == [
        ("a", "cudaGraphLaunch"),
        ("b", "cudaGraphLaunch"),
        ("c", "cudaGraphLaunch"),
    ]


def test_work_without_ids_has_no_call(run_of: MakeRun) -> None:
    rows = launches(
        run_of,
        kernel="""
            process_id, device_id, correlation_id, name, start_ns, end_ns
            0,          0,         NULL,           a,          50,     60
            NULL,       0,         1,              b,          60,     70
        """,
        api_call="""
            process_id, thread_id, domain,  name, correlation_id, start_ns, end_ns
            0,          0,         runtime, f,    NULL,                 10,     40
            0,          0,         runtime, f,    NULL,                 10,     40
            NULL,       0,         runtime, f,    1,                    10,     40
        """,
    )
    assert [(row["name"], row["call_name"]) for row in rows] == [
        ("a", None),
        ("b", None),
    ]


@pytest.mark.parametrize("seed", range(30))
def test_random_ids_equal_a_search_through_all_calls(
    run_of: MakeRun, seed: int
) -> None:
    chance = random.Random(seed)
    # Few ids make many doubles; those of 64 unsigned bits are negative here.
    ids = [chance.randrange(-40, 90) for _ in range(chance.randrange(1, 40))]
    ids += [-(2**63), 2**63 - 1]
    domains = ["runtime", "driver", "backtrace"]
    calls = []
    for _ in range(chance.randrange(0, 80)):
        start = chance.randrange(0, 20)
        calls.append(
            (
                chance.randrange(2),
                chance.randrange(3),
                chance.choice(domains),
                chance.choice("fg"),
                chance.choice(ids),
                start,
                start + chance.randrange(0, 9),
            )
        )
    work = [(chance.randrange(2), chance.choice(ids), n) for n in range(60)]
    rows = launches(
        run_of,
        kernel="process_id, correlation_id, name, device_id, start_ns, end_ns\n"
        + "\n".join(f"{p}, {c}, k, 0, {n}, {n + 1}" for p, c, n in work),
        api_call="process_id, thread_id, domain, name, correlation_id, start_ns,"
        " end_ns\n" + "\n".join(", ".join(map(str, call)) for call in calls),
    )
    place = {"runtime": 0, "driver": 1}
    expected: list[tuple[object, ...]] = []
    for process, number, start in work:
        mine = [
            (s, -e, place[domain], thread, name)
            for p, thread, domain, name, c, s, e in calls
            if (p, c) == (process, number) and domain in place
        ]
        if mine:
            begin, end, domain, thread, name = min(mine)
            found = (thread, ["runtime", "driver"][domain], name, begin, -end)
            expected.append((start, *found))
        else:
            expected.append((start, *[None] * 5))
    assert [(row["start_ns"], *(row[name] for name in CALL)) for row in rows] == (
        expected
    )


def test_bits_of_a_block_are_its_ids() -> None:
    ids = [-(2**63), -33, -32, -1, 0, 1, 31, 32, 33, 2**63 - 1]
    with duckdb.connect() as connection:
        for text in macros().values():
            connection.execute(text)
        found = connection.execute(
            "SELECT id_block(id) * 32 + log2(id_bit(id))::BIGINT"
            " FROM (SELECT unnest($ids::BIGINT[]) AS id)",
            {"ids": ids},
        ).fetchall()
    assert [row[0] for row in found] == ids


def test_launch_calls_launched_work(run_of: MakeRun) -> None:
    rows = run_sql(
        "SELECT process_id, correlation_id, name, start_ns FROM launch_call"
        " ORDER BY process_id, correlation_id",
        [
            run_of(
                {
                    "kernel": """
                        process_id, device_id, correlation_id, name, start_ns, end_ns
                        0,          0,         1,              gemm,       50,     60
                        0,          0,         1,              gemm,       60,     70
                        0,          0,         2,              gemm,       70,     80
                        1,          0,         3,              gemm,       70,     80
                        1,          0,         NULL,           gemm,       80,     90
                    """,
                    "api_call": """
                        process_id, thread_id, domain,  name,   correlation_id, start_ns, end_ns
                        0,          0,         driver,  cuF,                 1,       11,     14
                        0,          0,         runtime, cudaF,               1,       10,     15
                        0,          0,         runtime, cudaF,               2,       20,     25
                        0,          0,         runtime, none,                3,       30,     35
                        0,          0,         runtime, none,                4,       30,     35
                        0,          0,         driver,  none,                4,       31,     32
                        1,          0,         runtime, cudaF,               3,       30,     35
                        1,          0,         runtime, none,                1,       36,     37
                        1,          0,         runtime, none,             NULL,       38,     39
                    """,  # noqa: E501 - a table is read across
                }
            )
        ],
    ).table.to_pylist()
    assert rows == table("""
        process_id, correlation_id, name,  start_ns
        0,          1,              cudaF,       10
        0,          2,              cudaF,       20
        1,          3,              cudaF,       30
    """)
