"""The Python interface."""

import doctest
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import tracekit
from tests.conftest import MakeRun
from tracekit.api import opening
from tracekit.errors import QueryError, UnreadableTraceError, UsageError

KERNEL = """
    device_id, process_id, name, start_ns, end_ns
    0,         0,          gemm,        0,     60
    0,         0,          relu,       60,    100
"""


@pytest.fixture
def trace(run_of: MakeRun) -> tracekit.Trace:
    return tracekit.open(run_of({"kernel": KERNEL}).path)


def test_query_gives_tables_of_every_library(trace: tracekit.Trace) -> None:
    result = trace.query("kernels.hotspots", limit=1)
    assert isinstance(result.to_arrow(), pa.Table)
    assert isinstance(result.to_polars(), pl.DataFrame)
    assert result.to_arrow()["kernel_name"].to_pylist() == ["gemm"]
    assert len(result) == 1


def test_result_prints_as_a_table(trace: tracekit.Trace) -> None:
    text = repr(trace.query("kernels.hotspots"))
    assert "kernel_name" in text
    assert "gemm" in text


def test_options_are_those_of_the_command_line(trace: tracekit.Trace) -> None:
    result = trace.query("kernels.hotspots", window="50:100", devices=[0])
    assert result.to_arrow()["kernel_name"].to_pylist() == ["relu"]
    assert result.membership == "rows that start inside the window, whole"


def test_sql_sees_tables_and_views(trace: tracekit.Trace) -> None:
    result = trace.sql("SELECT name, rank FROM kernel ORDER BY start_ns DESC")
    assert result.to_arrow().to_pylist() == [
        {"name": "relu", "rank": 0},
        {"name": "gemm", "rank": 0},
    ]
    assert trace.sql("FROM gpu_activity").to_arrow().num_rows == 2


def test_tables_and_info(trace: tracekit.Trace) -> None:
    assert trace.tables["kernel"] == 2
    assert trace.tables["memcpy"] == 0
    assert trace.info[0].source.format == "test"


def test_an_empty_answer_says_why(run_of: MakeRun) -> None:
    run = run_of(absent={"kernel": "CUDA was not traced"})
    result = tracekit.open(run.path).query("kernels.hotspots")
    assert len(result) == 0
    assert "CUDA was not traced" in result.reasons[0]


def test_several_runs_are_asked_together(run_of: MakeRun) -> None:
    runs = [run_of({"kernel": KERNEL}, run_id=f"run-{name}") for name in "ab"]
    trace = tracekit.open([run.path for run in runs])
    rows = trace.query("kernels.hotspots", limit=1).to_arrow()
    assert rows.column_names[:3] == ["run_id", "rank", "kernel_name"]
    assert rows["run_id"].to_pylist() == ["run-a", "run-b"]
    assert trace.sql("SELECT count(*) AS n FROM kernel").to_arrow().to_pylist() == [
        {"n": 4}
    ]


def test_mistakes_have_errors_of_their_own(
    trace: tracekit.Trace, tmp_path: Path
) -> None:
    with pytest.raises(QueryError, match="there is no query"):
        trace.query("kernels.hotspot")
    with pytest.raises(QueryError, match="no parameter"):
        trace.query("kernels.hotspots", limt=3)
    with pytest.raises(UsageError, match="no window"):
        trace.query("kernels.hotspots", window="yesterday")
    with pytest.raises(UnreadableTraceError, match="does not exist"):
        tracekit.open(tmp_path / "nothing")


@pytest.mark.usefixtures("in_root")
def test_examples_in_docstrings_run() -> None:
    assert doctest.testmod(opening).attempted > 0
    assert doctest.testmod(opening).failed == 0
    assert doctest.testmod(tracekit).failed == 0
