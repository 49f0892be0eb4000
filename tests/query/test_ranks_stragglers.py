"""ranks.stragglers: who comes late, and how long the others wait."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

HEAD = "source, communicator, operation, sequence, device_id, start_ns, end_ns\n"
COLUMNS = (
    "rank",
    "timed",
    "collectives",
    "arrived_last",
    "arrived_first",
    "late_ns",
    "held_up_ns",
    "waited_ns",
    "not_joint",
)


def rank(*rows: str) -> dict[str, str]:
    return {"collective": HEAD + "\n".join(rows)}


def test_the_latest_rank_comes_first(query_rows: QueryRows) -> None:
    rows = query_rows(
        "ranks.stragglers",
        rank(
            "kernel, dp, all_reduce, 1, 0, 0, 100",
            "kernel, dp, all_reduce, 2, 0, 200, 250",
        ),
        ranks={
            1: rank(
                "kernel, dp, all_reduce, 1, 1, 30, 100",
                "kernel, dp, all_reduce, 2, 1, 220, 250",
            ),
            2: rank(
                "kernel, dp, all_reduce, 1, 2, 90, 101",
                "kernel, dp, all_reduce, 2, 2, 210, 250",
            ),
        },
    )
    # In the first rank 2 is 90 late, 0 and 1 wait 90 and 60; in the second rank 1 is
    # 20 late, 0 and 2 wait 20 and 10.
    assert only(rows, COLUMNS) == table("""
        rank, timed,  collectives, arrived_last, arrived_first, late_ns, held_up_ns, waited_ns, not_joint
        2,    kernel,           2,            1,             0,     100,        150,        10,         0
        1,    kernel,           2,            1,             0,      50,         30,        60,         0
        0,    kernel,           2,            0,             2,       0,          0,       110,         0
    """)  # noqa: E501 - a table is read across
    assert [row["late_median_ns"] for row in rows] == [50.0, 25.0, 0.0]
    assert [row["late_max_ns"] for row in rows] == [90, 30, 0]


def test_what_does_not_join_all_ranks_is_counted_apart(query_rows: QueryRows) -> None:
    rows = query_rows(
        "ranks.stragglers",
        rank("kernel, pp, send_recv, NULL, 0, 0, 10"),
        ranks={1: rank("kernel, pp, send_recv, NULL, 1, 20, 30")},
    )
    assert only(rows, ("rank", "collectives", "late_ns", "not_joint")) == table("""
        rank, collectives, late_ns, not_joint
        0,              0,    NULL,         1
        1,              0,    NULL,         1
    """)


def test_sequence_numbers_join_ranks(query_rows: QueryRows) -> None:
    rows = query_rows(
        "ranks.stragglers",
        rank(
            "kernel, dp, all_reduce, 7, 0, 0, 5", "kernel, dp, all_reduce, 8, 0, 9, 20"
        ),
        ranks={1: rank("kernel, dp, all_reduce, 8, 1, 12, 20")},
    )
    assert [(r["rank"], r["collectives"], r["late_ns"]) for r in rows] == [
        (1, 1, 3),
        (0, 1, 0),
    ]


def test_without_collectives_kernels_that_communicate_count(
    query_rows: QueryRows,
) -> None:
    head = "device_id, name, start_ns, end_ns\n"
    rows = query_rows(
        "ranks.stragglers",
        kernel=head + "0, ncclDevKernel_AllReduce, 0, 50\n0, gemm, 1, 2",
        ranks={
            1: {"kernel": head + "1, gemm, 0, 7\n1, ncclDevKernel_AllReduce, 8, 50"}
        },
    )
    found = [(r["rank"], r["timed"], r["late_ns"], r["waited_ns"]) for r in rows]
    assert found == [(1, "kernel", 8, 0), (0, "kernel", 0, 8)]


def test_without_kernels_the_operators_are_timed(query_rows: QueryRows) -> None:
    rows = query_rows(
        "ranks.stragglers",
        rank("operator, dp, all_reduce, 1, NULL, 0, 9"),
        ranks={1: rank("operator, dp, all_reduce, 1, NULL, 4, 9")},
    )
    assert [(r["rank"], r["timed"], r["late_ns"]) for r in rows] == [
        (1, "operator", 4),
        (0, "operator", 0),
    ]


def test_one_rank_alone_waits_for_nobody(query_rows: QueryRows) -> None:
    assert (
        query_rows("ranks.stragglers", rank("kernel, dp, all_reduce, 1, 0, 0, 9")) == []
    )
    assert query_rows("ranks.stragglers") == []
