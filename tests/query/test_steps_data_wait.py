"""steps.data_wait: loading in steps and between them, hidden or exposed."""

import pytest

from tests.conftest import QueryRows
from tests.support.tables import table

STEP = """
    step_index, process_id, start_ns, end_ns
    0,          0,                 0,    100
    1,          0,               100,    200
    2,          0,               250,    300
"""
ANNOTATION = """
    process_id, kind,     text,       start_ns, end_ns
    0,          push_pop, load_batch,       90,    120
    0,          push_pop, load_batch,      210,    260
    0,          push_pop, forward,           0,    300
    1,          push_pop, load_batch,        0,    300
"""
OPERATOR = """
    process_id, name,                                         start_ns, end_ns
    0,          enumerate(DataLoader)#_Iter.__next__,              110,    130
    0,          aten::add,                                         140,    150
"""
KERNEL = "process_id, device_id, start_ns, end_ns\n0, 0, 95, 105\n0, 1, 220, 230"


def test_loading_is_parted_by_step_and_by_what_gpus_did(query_rows: QueryRows) -> None:
    rows = query_rows(
        "steps.data_wait",
        step=STEP,
        annotation=ANNOTATION,
        operator=OPERATOR,
        kernel=KERNEL,
    )
    assert rows == table("""
        step_index, process_id, duration_ns, data_ns, exposed_ns, data_share, before_ns, before_exposed_ns
        0,          0,                  100,      10,          5,        0.1,         0,                 0
        1,          0,                  100,      30,         25,        0.3,         0,                 0
        2,          0,                   50,      10,         10,        0.2,        40,                30
    """)  # noqa: E501 - a table is read across


def test_ranges_may_be_named(query_rows: QueryRows) -> None:
    rows = query_rows(
        "steps.data_wait",
        parameters={"ranges": "forward"},
        step=STEP,
        annotation=ANNOTATION,
    )
    assert [row["data_ns"] for row in rows] == [100, 100, 50]


@pytest.mark.parametrize(
    ("text", "data_ns"),
    [
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 40),
        ("IteratorGetNext", 40),
        ("data", 40),
        ("data_loading", 40),
        ("get_batch", 40),
        ("prefetch", 40),
        ("next_batch", 40),
        ("forward", None),
        ("metadata", None),
        ("aten::batch_norm", None),
        ("DataParallel.forward", None),
    ],
)
def test_names_that_load_data(
    query_rows: QueryRows, text: str, data_ns: int | None
) -> None:
    annotation = f"process_id, kind, text, start_ns, end_ns\n0, push_pop, {text}, 0, 40"
    row = query_rows("steps.data_wait", step=STEP, annotation=annotation)[0]
    assert row["data_ns"] == data_ns


def test_a_run_without_steps_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("steps.data_wait", annotation=ANNOTATION) == []
