"""Steps are read from annotations that name them."""

import pyarrow as pa

from tests.support.tables import rows_for
from tracekit.convert.steps import StepFinder
from tracekit.schema import TABLES


def steps_of(text: str) -> list[tuple[int, str, int, int]]:
    finder = StepFinder()
    for batch in rows_for(TABLES["annotation"].arrow, text).to_batches():
        finder.look(0, batch)
    return [
        (row["step_index"], row["name"], row["start_ns"], row["end_ns"])
        for rows in finder.rows().values()
        for row in rows
    ]


def test_numbered_ranges_are_steps() -> None:
    assert steps_of("""
        process_id, kind,     text,        start_ns, end_ns
        0,          push_pop, iteration 1,       20,     30
        0,          push_pop, iteration 0,       10,     20
        0,          push_pop, forward,           10,     15
    """) == [(0, "iteration 0", 10, 20), (1, "iteration 1", 20, 30)]


def test_the_most_telling_word_wins() -> None:
    found = steps_of("""
        process_id, kind,     text,           start_ns, end_ns
        0,          push_pop, ProfilerStep#4,       10,     20
        0,          push_pop, ProfilerStep#5,       20,     30
        0,          push_pop, batch 1,              11,     12
        0,          push_pop, batch 2,              13,     14
        0,          push_pop, batch 3,              23,     24
    """)
    assert [name for _, name, _, _ in found] == ["ProfilerStep#4", "ProfilerStep#5"]


def test_ranges_that_overlap_each_other_are_no_steps() -> None:
    assert (
        steps_of("""
        process_id, kind,     text,   start_ns, end_ns
        0,          push_pop, step 0,       10,     40
        0,          push_pop, step 1,       20,     30
    """)
        == []
    )


def test_marks_open_ranges_and_single_ranges_are_no_steps() -> None:
    assert (
        steps_of("""
        process_id, kind,     text,        start_ns, end_ns
        0,          mark,     step 0,            10,     10
        0,          push_pop, step 1,            20,   NULL
        0,          push_pop, iteration 7,       30,     40
    """)
        == []
    )


def test_other_words_with_numbers_are_no_steps() -> None:
    assert (
        steps_of("""
        process_id, kind,     text,      start_ns, end_ns
        0,          push_pop, layer 0,         10,     20
        0,          push_pop, layer 1,         20,     30
        0,          push_pop, footstep 1,      40,     50
        0,          push_pop, footstep 2,      50,     60
    """)
        == []
    )


def test_rows_of_the_schema_come_out() -> None:
    finder = StepFinder()
    rows = rows_for(
        TABLES["annotation"].arrow,
        "process_id, kind, text, start_ns, end_ns\n"
        "0, push_pop, step_1, 0, 5\n0, push_pop, step_2, 5, 9",
    )
    finder.look(0, rows.to_batches()[0])
    made = finder.rows()[0]
    assert {row["source"] for row in made} == {"annotation"}
    assert pa.Table.from_pylist(made).num_rows == 2
