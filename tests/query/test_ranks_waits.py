"""ranks.waits: who waits for whom."""

from tests.conftest import QueryRows
from tests.support.tables import table

HEAD = "source, communicator, operation, sequence, start_ns, end_ns\n"


def test_each_waits_for_the_last(query_rows: QueryRows) -> None:
    starts = ((0, 40, 80), (10, 45, 80), (25, 42, 80))
    parts = [
        {
            "collective": HEAD
            + "\n".join(
                f"kernel, dp, all_reduce, {n}, {start}, {30 * (n + 1)}"
                for n, start in enumerate(of_rank)
            )
        }
        for of_rank in starts
    ]
    rows = query_rows("ranks.waits", parts[0], ranks={1: parts[1], 2: parts[2]})
    for row in rows:
        del row["run_id"]
    # The third begins everywhere at once: nobody waits.
    assert rows == table("""
        rank, waits_for_rank, timed,  collectives, waited_ns, waited_median_ns, waited_max_ns, waited_share
        0,                 2, kernel,           1,        25,             25.0,            25, 0.833
        1,                 2, kernel,           1,        15,             15.0,            15, 1.0
        0,                 1, kernel,           1,         5,              5.0,             5, 0.167
        2,                 1, kernel,           1,         3,              3.0,             3, 1.0
    """)  # noqa: E501 - a table is read across
