"""kernels.sequences: what follows each other in a stream."""

from tests.conftest import QueryRows
from tests.support.tables import table


def kernels(*rows: str) -> str:
    return "\n".join(
        ("process_id, device_id, stream_id, short_name, start_ns, end_ns", *rows)
    )


RUN = kernels(
    "0, 0, 7, add, 0, 10",
    "0, 0, 7, relu, 12, 20",
    "0, 0, 7, add, 30, 40",
    "0, 0, 7, relu, 38, 50",
    "0, 0, 7, add, 60, 70",
    "0, 0, 8, relu, 13, 14",
)


def test_pairs_are_counted_in_their_stream(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.sequences", parameters={"length": 2}, kernel=RUN)
    assert rows == table("""
        device_id, kernels,    occurrences, kernel_ns, gap_ns, span_ns, mean_ns
        0,         relu > add,           2,        40,     20,      60,    10.0
        0,         add > relu,           2,        40,      2,      40,    10.0
    """)


def test_occurrences_may_overlap(query_rows: QueryRows) -> None:
    four = kernels(*(f"0, 0, 7, k, {10 * n}, {10 * n + 5}" for n in range(4)))
    (row,) = query_rows("kernels.sequences", parameters={"length": 3}, kernel=four)
    assert (row["kernels"], row["occurrences"]) == ("k > k > k", 2)
    assert (row["kernel_ns"], row["gap_ns"], row["span_ns"]) == (30, 20, 50)


def test_what_is_rare_is_left_out(query_rows: QueryRows) -> None:
    rows = query_rows(
        "kernels.sequences", parameters={"length": 5, "min_count": 1}, kernel=RUN
    )
    assert [row["kernels"] for row in rows] == ["add > relu > add > relu > add"]
    assert (rows[0]["gap_ns"], rows[0]["span_ns"]) == (2 + 10 + 10, 70)
    assert query_rows("kernels.sequences", parameters={"length": 5}, kernel=RUN) == []


def test_a_run_without_kernels_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("kernels.sequences") == []
