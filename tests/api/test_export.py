"""`tracekit export`: every row is a slice, in lanes that do not cross, with arrows."""

import csv
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import MakeRun
from tests.support.command import run
from tests.support.exported import Exported, read_chrome, read_perfetto
from tests.support.shared import TRACES, needs_shared
from tracekit.api.tracks import DRAWN
from tracekit.convert import convert
from tracekit.schema import TABLES
from tracekit.store.run import Run

READ: dict[str, Callable[[Path], Exported]] = {
    "chrome": read_chrome,
    "perfetto": read_perfetto,
}
TABLES_OF_A_RUN = {
    "process": "process_id, os_pid, name\n0, 4000, python\n1, 4000, python",
    "thread": "thread_id, process_id, os_tid, name\n0, 0, 4001, main\n1, 1, 4001, main",
    "kernel": """
        process_id, device_id, stream_id, correlation_id, start_ns, end_ns, name
        0,          0,         7,         1,                   100,    200, gemm
        0,          0,         7,         2,                   150,    250, crossing
        0,          0,         7,         2,                   250,    250, empty
        0,          0,         7,         2,                   250,    300, touching
        1,          0,         7,         1,                   120,    180, other
        1,          0,         7,         9,                   190,    199, alone
    """,
    "memcpy": """
        process_id, device_id, stream_id, correlation_id, start_ns, end_ns, copy_kind
        0,          0,         7,         3,                    60,     70, HtoD
    """,
    "api_call": """
        process_id, thread_id, correlation_id, domain,    start_ns, end_ns, name
        0,          0,         1,              backtrace,       8,     21, launch_gemm
        0,          0,         1,              runtime,        10,     20, launch_gemm
        0,          0,         1,              driver,         12,     18, inner
        0,          0,         2,              runtime,        30,     40, launch_graph
        0,          0,         3,              runtime,        50,     55, copy
        1,          1,         1,              runtime,        10,     20, launch_other
    """,
    "annotation": """
        process_id, thread_id, kind,      text,                start_ns, end_ns
        0,          0,         push_pop,  step,                       0,    100
        0,          0,         push_pop,  inner,                     10,     90
        0,          0,         start_end, "</script> crosses",       50,    150
        0,          0,         push_pop,  open,                      95,
        0,          0,         mark,      here,                      42,
    """,
    "counter_sample": """
        device_id, time_ns, metric, unit, value
        0,              10, power,  W,    300.5
        0,              20, power,  W,    310
    """,
}


def exported(
    capfd: pytest.CaptureFixture[str], source: Run, form: str, place: Path
) -> Exported:
    target = place / f"trace.{form}"
    ran = run(capfd, "export", source.path, "--to", form, "-o", target)
    assert ran.status == 0, ran.err
    return READ[form](target)


@pytest.mark.parametrize("form", READ)
def test_every_row_is_in_the_trace(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    found = exported(capfd, run_of(TABLES_OF_A_RUN), form, tmp_path)
    assert found.kinds == {"kernel": 6, "memcpy": 1, "api_call": 6, "annotation": 5}
    assert found.crossings() == []
    # The origin is the first start, which is 0 here.
    named = {name: (start, end) for _, start, end, name in found.slices}
    assert named["gemm"] == (100, 200)
    assert named["empty"] == (250, 250)
    # A range that never ended lasts until the last end of the trace.
    assert named["open"] == (95, 300)
    assert sorted(found.arrows) == [
        ("copy", "Memcpy HtoD"),
        ("launch_gemm", "gemm"),
        ("launch_graph", "crossing"),
        ("launch_graph", "empty"),
        ("launch_graph", "touching"),
        ("launch_other", "other"),
    ]
    assert any("lane 2" in name for name in found.tracks.values())


@pytest.mark.parametrize("form", READ)
def test_a_run_of_nothing_is_a_trace_of_nothing(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    found = exported(capfd, run_of(), form, tmp_path)
    assert found.slices == []


def test_times_before_zero_and_ranks_are_kept(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel = (
        "process_id, device_id, stream_id, start_ns, end_ns, name\n0, 0, 7, -50, 5, k"
    )
    other = kernel.replace("0, 0, 7", "1, 1, 7")
    source = run_of({"kernel": kernel}, ranks={1: {"kernel": other}})
    for form in READ:
        found = exported(capfd, source, form, tmp_path)
        assert [one[1:] for one in found.slices] == [(0, 55, "k")] * 2
        assert len({one[0] for one in found.slices}) == 2


def test_a_trace_opens_with_names_of_the_program(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = exported(capfd, run_of(TABLES_OF_A_RUN), "chrome", tmp_path)
    assert "main 4001: API calls" in found.tracks.values()
    text = (tmp_path / "trace.chrome").read_text()
    # Two processes of one number, as in two containers, stay two.
    assert text.count('"process_name","args":{"name":"python 4000"}') == 2


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_are_written_as_sql_shows_them(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    source = run_of(TABLES_OF_A_RUN)
    folder = tmp_path / "tables"
    ran = run(capfd, "export", source.path, "--to", form, "-o", folder)
    assert ran.status == 0, ran.err
    assert {file.stem for file in folder.iterdir()} == TABLES_OF_A_RUN.keys()
    if form == "csv":
        with (folder / "kernel.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pq.read_table(folder / "kernel.parquet").to_pylist()
    shown = [(row["name"], int(row["end_ns"]), int(row["rank"])) for row in rows]
    assert shown[0] == ("gemm", 200, 0)
    assert sorted(end for _, end, _ in shown) == [180, 199, 200, 250, 250, 300]
    again = run(capfd, "export", source.path, "--to", form, "-o", folder)
    assert again.status == 2
    assert "is there already" in again.error


def test_only_the_tables_that_were_named(
    run_of: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = run_of(TABLES_OF_A_RUN)
    place = tmp_path / "few"
    options = ("--to", "csv", "-o", place, "--tables")
    assert run(capfd, "export", source.path, *options, "kernel,nothing").status == 2
    assert run(capfd, "export", source.path, *options, "kernel,memset").status == 0
    assert {file.name for file in place.iterdir()} == {"kernel.csv", "memset.csv"}


def test_every_table_with_a_start_and_an_end_is_drawn() -> None:
    # Links are arrows between slices; what was rejected is in no metric and no trace.
    intervals = {name for name, table in TABLES.items() if table.is_interval}
    assert {drawn.table for drawn in DRAWN} == intervals - {"flow", "rejected"}


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "nsys/h200/graphs_node.sqlite",
        "nsys/h200/multiproc.sqlite",
        "kineto/public/tracelens__b200__eager_trace.json.gz",
    ],
)
def test_captures_lose_nothing(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (capture,) = TRACES.glob(name)
    source = convert([capture], tmp_path / "run")
    rows = {drawn.table: source.manifest.rows(drawn.table) for drawn in DRAWN}
    wanted = {table: count for table, count in rows.items() if count}
    for form in READ:
        found = exported(capfd, source, form, tmp_path)
        assert found.kinds == wanted
        assert found.crossings() == []
        assert found.arrows
