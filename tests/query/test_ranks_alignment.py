"""ranks.alignment: what the clocks of the ranks still differ by."""

from tests.conftest import QueryRows
from tests.support.tables import table

HEAD = "source, communicator, operation, sequence, start_ns, end_ns\n"
CLOCK = "host, offset_ns, method, residual_ns\nnode, 0, utc, {0}"


def rank(residual: int, *ends: int) -> dict[str, str]:
    rows = (f"kernel, dp, all_reduce, {n}, 0, {end}" for n, end in enumerate(ends))
    return {"collective": HEAD + "\n".join(rows), "clock": CLOCK.format(residual)}


def test_bias_is_told_from_spread(query_rows: QueryRows) -> None:
    # The middle of the ends is that of rank 0; rank 1 is always 7 ahead, rank 2 goes
    # to both sides.
    ranks = {1: rank(7, 107, 207, 307), 2: rank(4, 96, 205, 297)}
    rows = query_rows("ranks.alignment", rank(0, 100, 200, 300), ranks=ranks)
    for row in rows:
        del row["run_id"]
    # The middles are 100, 205 and 300.
    assert rows == table("""
        rank, method, offset_ns, residual_ns, collectives, bias_ns, distance_ns, distance_max_ns, impossible
        0,    utc,            0,           0,           3,       0,           0,               5,          0
        1,    utc,            0,           7,           3,       7,           7,               7,          0
        2,    utc,            0,           4,           3,      -3,           3,               4,          0
    """)  # noqa: E501 - a table is read across


def test_an_order_that_cannot_be_is_counted(query_rows: QueryRows) -> None:
    late = HEAD + "kernel, dp, all_reduce, 0, 60, 90"
    ranks = {1: {"collective": late, "clock": CLOCK.format(40)}}
    rows = query_rows("ranks.alignment", rank(40, 50), ranks=ranks)
    assert [(r["collectives"], r["bias_ns"], r["impossible"]) for r in rows] == [
        (0, None, 1),
        (0, None, 1),
    ]


def test_operations_that_let_ranks_go_early_do_not_count(query_rows: QueryRows) -> None:
    cast = HEAD + "kernel, dp, broadcast, 0, 0, {0}"
    ranks = {1: {"collective": cast.format(9), "clock": CLOCK.format(0)}}
    first = {"collective": cast.format(5), "clock": CLOCK.format(0)}
    rows = query_rows("ranks.alignment", first, ranks=ranks)
    assert [row["collectives"] for row in rows] == [0, 0]
