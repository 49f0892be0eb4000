"""counters.summary: statistics of sampled counters."""

import pytest

from tests.conftest import MakeRun, QueryRows
from tests.support.tables import only, table
from tracekit.errors import QueryError
from tracekit.query import load_module, run_module

SAMPLES = """
    host,  source, instance, device_id, cpu,  time_ns, metric,    unit, value
    node1, gpu,    NULL,     0,         NULL,      10, SM Active, %,       40
    node1, gpu,    NULL,     0,         NULL,      20, SM Active, %,       50
    node1, gpu,    NULL,     0,         NULL,      30, SM Active, %,       90
    node1, gpu,    NULL,     0,         NULL,      40, SM Active, %,     NULL
    node1, gpu,    NULL,     1,         NULL,      20, SM Active, %,        5
    node1, nic,    mlx5_0,   NULL,      NULL,      20, Sent,      B/s,      1
    node1, nic,    mlx5_1,   NULL,      NULL,      20, Sent,      B/s,      2
    node1, cpu,    NULL,     NULL,      0,         20, Busy,      %,        3
    node1, cpu,    NULL,     NULL,      1,         20, Busy,      %,        4
    node2, gpu,    NULL,     2,         NULL,      20, SM Active, %,        6
"""
SHORT = ["host", "source", "instance", "device_id", "cpu", "samples", "mean_value"]


def test_a_counter_of_a_device_has_a_row(query_rows: QueryRows) -> None:
    rows = query_rows("counters.summary", devices=(0,), counter_sample=SAMPLES)
    assert rows == table("""
        host,  source, instance, device_id, cpu,  metric,    unit, samples, mean_value, median_value, min_value, max_value, stddev_value, first_ns, last_ns
        node1, gpu,    NULL,     0,         NULL, SM Active, %,          3,       60.0,         50.0,      40.0,      90.0,       26.458,       10,      30
    """)  # noqa: E501 - a table is read across


def test_hosts_instances_devices_and_cores_are_told_apart(
    query_rows: QueryRows,
) -> None:
    rows = query_rows("counters.summary", counter_sample=SAMPLES)
    assert only(rows, SHORT) == table("""
        host,  source, instance, device_id, cpu,  samples, mean_value
        node1, cpu,    NULL,     NULL,      0,          1,        3.0
        node1, cpu,    NULL,     NULL,      1,          1,        4.0
        node1, gpu,    NULL,     0,         NULL,       3,       60.0
        node1, gpu,    NULL,     1,         NULL,       1,        5.0
        node1, nic,    mlx5_0,   NULL,      NULL,       1,        1.0
        node1, nic,    mlx5_1,   NULL,      NULL,       1,        2.0
        node2, gpu,    NULL,     2,         NULL,       1,        6.0
    """)


def test_metrics_and_units_are_told_apart(query_rows: QueryRows) -> None:
    rows = query_rows(
        "counters.summary",
        counter_sample="""
            host, source, device_id, time_ns, metric, unit, value
            n,    gpu,    0,              10, clock,  Hz,       1
            n,    gpu,    0,              10, clock,  MHz,      2
            n,    gpu,    0,              10, power,  W,        3
        """,
    )
    assert [(row["metric"], row["unit"], row["mean_value"]) for row in rows] == [
        ("clock", "Hz", 1.0),
        ("clock", "MHz", 2.0),
        ("power", "W", 3.0),
    ]


def test_one_sample_has_a_deviation_of_0(query_rows: QueryRows) -> None:
    (row,) = query_rows("counters.summary", devices=(1,), counter_sample=SAMPLES)
    assert (row["samples"], row["stddev_value"]) == (1, 0.0)


def test_a_window_takes_the_samples_inside(query_rows: QueryRows) -> None:
    rows = query_rows(
        "counters.summary", window="20:30", devices=(0,), counter_sample=SAMPLES
    )
    assert only(rows, ["samples", "first_ns", "last_ns", "mean_value"]) == table("""
        samples, first_ns, last_ns, mean_value
              1,       20,      20,       50.0
    """)


def test_samples_of_a_host_count_once_whatever_the_ranks(run_of: MakeRun) -> None:
    run = run_of({"counter_sample": SAMPLES}, ranks={1: {}, 2: {}})
    answer = run_module(load_module("counters.summary"), [run])
    rows = answer.table.to_pylist()
    assert len(rows) == 7
    assert rows[0]["rank"] is None
    assert [row["samples"] for row in rows if row["device_id"] == 0] == [3]


def test_samples_belong_to_no_process(query_rows: QueryRows) -> None:
    with pytest.raises(QueryError, match="has no --process"):
        query_rows("counters.summary", processes=(0,), counter_sample=SAMPLES)


def test_a_run_without_samples_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("counters.summary") == []
