"""annotations.gpu_projection: ranges from first to last GPU work, summed by name."""

from tests.conftest import QueryRows
from tests.query.test_annotations_gpu_projection_trace import RANGES, TABLES
from tests.support.tables import only, table

NAME = "annotations.gpu_projection"
SHOWN = ["range_name", "instances", "total_gpu_ns", "operations"]
# A second load, with the call at 99.
AGAIN = RANGES + "    9, 0, 0, push_pop, load, 99, 101\n"


def test_projections_of_one_name_are_summed(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, {**TABLES, "annotation": AGAIN})
    assert rows[-2:] == table("""
        range_name, kind,     instances, total_gpu_ns, total_range_ns, mean_gpu_ns, median_gpu_ns, min_gpu_ns, max_gpu_ns, stddev_gpu_ns, operations, mean_operations, mean_level, mean_children
        :other,     push_pop,         1,           20,             35,        20.0,          20.0,         20,         20,           0.0,          1,             1.0,        0.0,           0.0
        :open,      push_pop,         1,            7,           NULL,         7.0,           7.0,          7,          7,           0.0,          1,             1.0,        0.0,           0.0
    """)  # noqa: E501 - a table is read across
    (load,) = [row for row in rows if row["range_name"] == ":load"]
    assert (load["instances"], load["total_gpu_ns"], load["total_range_ns"]) == (
        2,
        60,
        22,
    )
    assert (load["mean_gpu_ns"], load["median_gpu_ns"]) == (30.0, 30.0)
    assert (load["stddev_gpu_ns"], load["mean_level"]) == (28.284, 1.0)


def test_rows_come_in_order_of_their_projection(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, TABLES)
    assert only(rows, SHOWN) == table("""
        range_name, instances, total_gpu_ns, operations
        :cross,             1,          100,          2
        :step,              1,          100,          3
        :copy,              1,           85,          2
        :other,             1,           20,          1
        :load,              1,           10,          1
        :open,              1,            7,          1
    """)
    assert query_rows(NAME, TABLES, parameters={"limit": 2}) == rows[:2]


def test_graphs_and_threads_are_chosen(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, TABLES, parameters={"graph_launches": "exclude"})
    assert (rows[0]["range_name"], rows[0]["total_gpu_ns"]) == (":step", 60)
    rows = query_rows(NAME, TABLES, parameters={"launched_by": "process"})
    assert [row["total_gpu_ns"] for row in rows[:3]] == [150, 150, 150]


def test_the_scope_is_kept(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, TABLES, window="10:30")
    assert [row["range_name"] for row in rows] == [":other", ":load"]
    rows = query_rows(NAME, TABLES, devices=(1,))
    assert [row["range_name"] for row in rows] == [":open", ":copy", ":step"]
    rows = query_rows(NAME, TABLES, processes=(1,))
    assert [row["range_name"] for row in rows] == [":open"]


def test_without_work_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows(NAME) == []
    assert query_rows(NAME, annotation=RANGES) == []
