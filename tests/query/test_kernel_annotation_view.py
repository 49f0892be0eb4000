"""The view kernel_annotation: every kernel once, with its innermost range."""

from tests.conftest import MakeRun
from tests.query.test_annotations_kernels import TABLES
from tests.support.tables import only, table
from tracekit.query import run_sql


def test_every_kernel_has_its_innermost_range(run_of: MakeRun) -> None:
    answer = run_sql(
        "FROM kernel_annotation ORDER BY process_id, start_ns", [run_of(TABLES)]
    )
    columns = ["process_id", "correlation_id", "thread_id", "text", "range_start_ns"]
    assert only(answer.table.to_pylist(), columns) == table("""
        process_id, correlation_id, thread_id, text,  range_start_ns
        0,          1,                      0, load,              10
        0,          2,                      0, cross,             20
        0,          3,                      0, copy,              30
        0,          4,                      0, copy,              30
        0,          5,                      0, step,               0
        0,          6,                      0, NULL,            NULL
        0,          7,                      1, NULL,            NULL
        0,          99,                  NULL, NULL,            NULL
        1,          1,                      2, NULL,            NULL
        1,          2,                      2, open,              40
    """)


def test_without_kernels_the_view_is_empty(run_of: MakeRun) -> None:
    assert run_sql("FROM kernel_annotation", [run_of()]).table.num_rows == 0
