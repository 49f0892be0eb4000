"""CNTK's profiler: detail files and summaries made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.rows import rows
from tracekit.convert import convert
from tracekit.store.run import Run

SUMMARY = """CNTK Performance Profiler Summary Report

Time Stamp: 2026/12/01 00:47:22

Description................ ............Mean ..........StdDev .............Min .............Max ...........Count ...........Total

Main Thread

_Minibatch Iteration      :        51.629 ms         2.092 ms        49.081 ms        54.889 ms                4       206.517 ms

Data Reader

_Read Minibatch           :        10.500 MB/s       0.000 MB/s      10.500 MB/s      10.500 MB/s              1
"""  # noqa: E501 - as CNTK prints it


def event(kind: str, name: str, ts: int, tid: int = 9) -> dict[str, Any]:
    return {"pid": 5, "tid": tid, "name": name, "cat": "PERF", "ph": kind, "ts": ts}


def run_of(place: Path, text: str) -> Run:
    path = place / "detail"
    path.write_text(text)
    return convert([path], place / "run")


ITERATIONS = [
    # Sorted by the ends: what is inside stands before what is around it.
    event("B", "__Forward + Backward", 440),
    event("E", "__Forward + Backward", 55_128),
    event("B", "_Minibatch Iteration", 439),
    event("E", "_Minibatch Iteration", 55_328),
    event("B", "_Minibatch Iteration", 55_895),
    event("E", "_Minibatch Iteration", 106_914),
]


def test_iterations_are_steps(tmp_path: Path) -> None:
    run = run_of(tmp_path, json.dumps(ITERATIONS))
    names = ["step_index", "name", "start_ns", "end_ns", "source"]
    assert rows(run, "step", *names) == [
        (0, "_Minibatch Iteration", 439_000, 55_328_000, "profiler"),
        (1, "_Minibatch Iteration", 55_895_000, 106_914_000, "profiler"),
    ]
    assert rows(run, "annotation", "text", "start_ns", "end_ns") == [
        ("_Minibatch Iteration", 439_000, 55_328_000),
        ("__Forward + Backward", 440_000, 55_128_000),
        ("_Minibatch Iteration", 55_895_000, 106_914_000),
    ]
    assert rows(run, "process", "os_pid") == [(5,)]
    assert rows(run, "thread", "os_tid") == [(9,)]
    assert run.manifest.ranks[0].origin_utc_ns is None
    assert run.manifest.absent["kernel"].startswith("CNTK profiles minibatches")


def test_ends_and_beginnings_that_stand_alone(tmp_path: Path) -> None:
    events = [
        event("E", "lost", 5),
        event("B", "open", 7),
        event("B", "one thread", 1, tid=1),
        event("E", "one thread", 2, tid=2),
    ]
    run = run_of(tmp_path, json.dumps(events))
    assert rows(run, "annotation", "text", "end_ns") == [
        ("one thread", None),
        ("open", None),
    ]
    assert [note.count for note in run.manifest.skipped] == [2]


@pytest.mark.parametrize("length", range(100, 550, 37))
def test_a_cut_file_keeps_its_whole_events(length: int, tmp_path: Path) -> None:
    text = json.dumps(ITERATIONS)
    assert length < len(text)
    run = run_of(tmp_path, text[:length])
    assert run.manifest.rows("annotation") <= 3
    assert run.manifest.repaired or run.manifest.skipped


def test_a_summary(tmp_path: Path) -> None:
    run = run_of(tmp_path, SUMMARY)
    assert run.manifest.source.format == "cntk-summary"
    names = ["category", "name", "unit", "count", "total", "minimum", "maximum", "mean"]
    assert rows(run, "reported_total", *names) == [
        (
            "Main Thread",
            "_Minibatch Iteration",
            "ns",
            4,
            206_517_000,
            49_081_000,
            54_889_000,
            51_629_000,
        ),
        ("Data Reader", "_Read Minibatch", "MB/s", 1, None, 10.5, 10.5, 10.5),
    ]
    deviations = rows(run, "reported_total", "standard_deviation")
    assert deviations == [(2_092_000,), (0,)]


def test_a_summary_that_is_cut(tmp_path: Path) -> None:
    run = run_of(tmp_path, SUMMARY[: SUMMARY.index("_Minibatch") + 30])
    assert run.manifest.rows("reported_total") == 0
