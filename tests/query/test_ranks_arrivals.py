"""ranks.arrivals: the skew of each collective."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

HEAD = "source, communicator, operation, bytes, sequence, start_ns, end_ns\n"
FIRST = (
    HEAD + "kernel, dp, all_reduce, 8, 1, 0, 30\nkernel, dp, all_gather, 4, 2, 50, 90"
)
SECOND = (
    HEAD + "kernel, dp, all_reduce, 8, 1, 10, 31\nkernel, dp, all_gather, 6, 2, 40, 90"
)
RANKS = {1: {"collective": SECOND}}


def test_skew_waiting_and_exchange(query_rows: QueryRows) -> None:
    rows = query_rows("ranks.arrivals", collective=FIRST, ranks=RANKS)
    for row in rows:
        del row["run_id"], row["rank"]
    assert rows == table("""
        number, start_ns, communicator, operation,  bytes, timed,  ranks, first_rank, last_rank, skew_ns, waited_ns, exchange_ns, end_spread_ns, joint
        1,             0, dp,           all_reduce,     8, kernel,     2,          0,         1,      10,        10,          21,             1, true
        2,            40, dp,           all_gather,     6, kernel,     2,          1,         0,      10,        10,          40,             0, true
    """)  # noqa: E501 - a table is read across


def test_the_widest_skew_may_come_first(query_rows: QueryRows) -> None:
    wide = FIRST.replace("50, 90", "70, 90")
    parameters = {"order": "skew", "limit": 1}
    rows = query_rows(
        "ranks.arrivals", collective=wide, ranks=RANKS, parameters=parameters
    )
    assert only(rows, ("number", "skew_ns")) == [{"number": 2, "skew_ns": 30}]


def test_where_a_rank_ended_first_nobody_waited(query_rows: QueryRows) -> None:
    later = {1: {"collective": HEAD + "kernel, dp, all_reduce, 8, 1, 31, 40"}}
    first = query_rows("ranks.arrivals", collective=FIRST, ranks=later)
    assert only(first, ("joint", "waited_ns")) == [{"joint": False, "waited_ns": None}]
