"""steps.stability: where the stable steps begin, and how they vary."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import table


def steps(lengths: list[int], *, gap: int = 0, process: int = 0) -> str:
    rows, start = [], 0
    for index, length in enumerate(lengths):
        rows.append(f"{index}, {process}, {start}, {start + length}, 8, images")
        start += length + gap
    return "\n".join(rows)


HEAD = "step_index, process_id, start_ns, end_ns, samples, unit\n"


def test_warm_up_is_told_from_stable_steps(query_rows: QueryRows) -> None:
    lengths = [*[500] * 4, 100, 100, 100, 101, 100, 99, 100, 100, 103, 100]
    rows = query_rows("steps.stability", step=HEAD + steps(lengths, gap=10))
    # Medians of five see the slow steps from step 2 no longer. From 1020, twelve steps
    # of 2003 ns together and eleven gaps of 10: 96 images in 2113 ns.
    assert rows == table("""
        process_id, steps, stable_steps, flagged, first_stable_index, warm_up_ns, median_ns, mad_ns, mad_share, min_ns, max_ns, slowest_index, between_ns, samples, unit,   samples_per_second
        0,             14,           12, false,                    2,       1020,       100,      0,         0,     99,    500,             2,        110,      96, images,       45433033.602
    """)  # noqa: E501 - a table is read across


@pytest.mark.parametrize(
    ("lengths", "median", "deviation"),
    [
        ([100, 110, 120], 110, 10),  # too few to choose from
        ([100, 200, 300, 400, 500, 600, 700, 800, 900, 1000], 550, 250),  # growing
    ],
)
def test_all_steps_are_used_and_flagged_where_none_can_be_chosen(
    query_rows: QueryRows, lengths: list[int], median: int, deviation: int
) -> None:
    (row,) = query_rows("steps.stability", step=HEAD + steps(lengths))
    assert row["flagged"] is True
    assert row["stable_steps"] == row["steps"] == len(lengths)
    assert (row["median_ns"], row["mad_ns"]) == (median, deviation)
    assert row["mad_share"] == round(deviation / median, 3)


def test_processes_are_judged_by_themselves(query_rows: QueryRows) -> None:
    step = HEAD + steps([10, 10]) + "\n" + steps([20, 20, 20], process=1)
    rows = query_rows("steps.stability", step=step)
    assert [(row["steps"], row["median_ns"]) for row in rows] == [(2, 10), (3, 20)]
    (row,) = query_rows("steps.stability", step=step, processes=(1,))
    assert (row["process_id"], row["steps"]) == (1, 3)


def test_samples_that_one_step_lacks_make_no_throughput(query_rows: QueryRows) -> None:
    step = HEAD + steps([10, 10]) + "\n2, 0, 20, 30, NULL, images"
    (row,) = query_rows("steps.stability", step=step)
    assert (row["samples"], row["samples_per_second"]) == (None, None)


def test_a_run_without_steps_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("steps.stability") == []
