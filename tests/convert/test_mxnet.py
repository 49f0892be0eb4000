"""MXNet's profiler: traces and totals made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.rows import rows
from tracekit.convert import convert
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import Run

Fields = dict[str, Any]
T0 = 1_796_087_505_000_000
HASH = 14_133_751_758_764_339_109

TEXT = """
Profile Statistics:
\tNote the difference in units for different entries.
Device Storage
=================
Name                          Total Count    Min Use  (kB)    Max Use  (kB)    Avg Use  (kB)
----                          -----------    -------------    -------------    -------------
Memory: gpu/0                         248           0.0000        1114.2080         557.1040

MXNET_C_API
=================
Name                          Total Count        Time (ms)    Min Time (ms)    Max Time (ms)    Avg Time (ms)
----                          -----------        ---------    -------------    -------------    -------------
MXNDArrayWaitAll                        4           0.6470           0.1580           0.1710           0.1618
MXNet C API Calls                     456           0.4560           0.0010           0.4560           0.2270
a name with 4 words                     2           1.0000           0.5000           0.5000           0.5000

"""  # noqa: E501 - as MXNet prints it


def run_of(place: Path, text: str | bytes) -> Run:
    path = place / "profile.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return convert([path], place / "run")


def trace(*events: Fields) -> str:
    places = ["cpu/0", "gpu/0", "gpu/1", "cpu pinned/"]
    names = [
        {"ph": "M", "args": {"name": name}, "pid": pid, "name": "process_name"}
        for pid, name in enumerate(places)
    ]
    return json.dumps({"traceEvents": [*names, *events], "displayTimeUnit": "ms"})


def event(kind: str, name: str, category: str, ts: int, **more: object) -> Fields:
    fields = {"ph": kind, "name": name, "cat": category, "ts": T0 + ts}
    return {**fields, "pid": 0, "tid": HASH, **more}


def test_an_operator_counts_once(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        trace(
            event("B", "Convolution", "operator", 10, pid=2),
            event("E", "Convolution", "operator", 30, pid=2),
            event("b", "Convolution", "operator", 10, pid=HASH, id=HASH),
            event("e", "Convolution", "operator", 30, pid=HASH, id=HASH),
        ),
    )
    names = ["name", "device_id", "start_ns", "end_ns", "thread_id"]
    start = T0 * 1000
    assert rows(run, "operator", *names) == [
        ("Convolution", 0, start + 10_000, start + 30_000, 0)
    ]
    # Only gpu/1 did something.
    assert rows(run, "device", "device_id") == [(0,)]
    assert sum(note.count for note in run.manifest.skipped) == 2
    assert run.manifest.ranks[0].origin_utc_ns == 0


def test_asynchronous_operators_count_where_there_are_no_others(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        trace(
            event("b", "Convolution", "operator", 10, id=1),
            event("e", "Convolution", "operator", 30, id=1),
        ),
    )
    assert run.manifest.rows("operator") == 1


def test_calls_tasks_marks_and_counters(tmp_path: Path) -> None:
    memory = {"Memory: gpu/0": 524_352}
    run = run_of(
        tmp_path,
        trace(
            event("b", "MXNDArrayFree", "MXNET_C_API", 1, id=HASH),
            event("e", "MXNDArrayFree", "MXNET_C_API", 2, id=HASH),
            event("C", "Memory: gpu/0", "Device Storage", 3, args=memory),
            event("C", "loss", "train", 4, args={"loss": 1.5}),
            event("C", "odd", "train", 4, args={"odd": "text"}),
            event("C", "huge", "train", 4, args={"huge": 10**400}),
            event("n", "iteration", "train,instant_marker", 5, s="p"),
            event("b", "step0", "train", 6, id=HASH),
            event("b", "step1", "train", 16, id=HASH),
            event("e", "step0", "train", 16, id=HASH),
            event("e", "step1", "train", 26, id=HASH),
        ),
    )
    assert rows(run, "library_call", "library", "name") == [("mxnet", "MXNDArrayFree")]
    names = ["source", "instance", "device_id", "metric", "unit", "value"]
    assert rows(run, "counter_sample", *names) == [
        ("mxnet", "gpu/0", 0, "memory in use", "B", 524_352.0),
        ("mxnet", "train", None, "loss", None, 1.5),
    ]
    assert rows(run, "annotation", "kind", "domain", "text") == [
        ("mark", "train", "iteration"),
        ("start_end", "train", "step0"),
        ("start_end", "train", "step1"),
    ]
    assert rows(run, "step", "step_index", "name") == [(0, "step0"), (1, "step1")]


def test_nested_runs_of_one_operator_and_ends_that_are_missing(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        trace(
            event("B", "Custom", "operator", 0),
            event("B", "Custom", "operator", 10),
            event("E", "Custom", "operator", 20),
            event("E", "Custom", "operator", 40),
            event("E", "Custom", "operator", 50),
            event("B", "open", "operator", 60),
            event("B", "backwards", "operator", 70),
            event("E", "backwards", "operator", 65),
        ),
    )
    found = rows(run, "operator", "name", "start_ns", "end_ns")
    start = T0 * 1000
    assert found == [
        ("Custom", start, start + 40_000),
        ("Custom", start + 10_000, start + 20_000),
    ]
    assert sorted(rows(run, "rejected", "name", "reason")) == [
        ("backwards", "the end is before the start"),
        ("open", "no end was recorded"),
    ]
    assert [note.reason for note in run.manifest.skipped] == [
        "an end without a beginning"
    ]


def test_a_dump_that_was_left_open(tmp_path: Path) -> None:
    text = trace(
        event("B", "Convolution", "operator", 10),
        event("E", "Convolution", "operator", 30),
    )
    run = run_of(tmp_path, text[: text.index("]")] + ",\n")
    assert run.manifest.rows("operator") == 1
    assert run.manifest.repaired


def test_totals_as_text(tmp_path: Path) -> None:
    run = run_of(tmp_path, TEXT)
    assert run.manifest.source.format == "mxnet-totals"
    names = ["category", "name", "unit", "count", "total", "minimum", "maximum", "mean"]
    assert rows(run, "reported_total", *names) == [
        ("Device Storage", "Memory: gpu/0", "B", 248, None, 0, 1_114_208, 557_104),
        ("MXNET_C_API", "MXNDArrayWaitAll", "ns", 4, 647e3, 158e3, 171e3, 161_800),
        # A counter, not a time: the last call was the 456th.
        ("MXNET_C_API", "MXNet C API Calls", None, 456, None, 1, 456, 227),
        ("MXNET_C_API", "a name with 4 words", "ns", 2, 1e6, 5e5, 5e5, 5e5),
    ]


def test_totals_as_json(tmp_path: Path) -> None:
    values = {"Count": 8, "Total": 0.456, "Min": 0.037, "Max": 0.078, "Avg": 0.057}
    memory = {"Count": 3, "Min": 0, "Max": 1114, "Avg": 557.1}
    text = json.dumps(
        {
            "Time": {"operator": {"Convolution": values}, "empty": {}},
            "Memory": {"Device Storage": {"Memory: cpu/0": memory}},
            "Unit": {"Time": "ms", "Memory": "kB"},
        }
    )
    run = run_of(tmp_path, text)
    names = ["category", "name", "unit", "count", "total", "minimum", "maximum", "mean"]
    assert rows(run, "reported_total", *names) == [
        ("operator", "Convolution", "ns", 8, 456e3, 37e3, 78e3, 57e3),
        ("Device Storage", "Memory: cpu/0", "B", 3, None, 0, 1_114_000, 557_100),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"Time": {"operator": {"x": {"Count": "many"}}}, "Unit": {"Time": "ms"}}',
        '{"Time": {"operator": []}, "Unit": {"Time": "ms"}}',
        '{"Unit": {"Time": "ms"}, "Time": {"a": {"b": {"Count": 1',
        '{"Time": {"a": ' + "[" * 10_000 + '"Unit": {"Time": "ms"}',
    ],
)
def test_damaged_totals_are_told(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError, match="cut short or damaged"):
        run_of(tmp_path, text)
    assert not (tmp_path / "run").exists()


def test_text_totals_that_are_cut_keep_their_whole_lines(tmp_path: Path) -> None:
    cut = TEXT[: TEXT.index("MXNet C API Calls") + 40].encode() + b"\xff"
    run = run_of(tmp_path, cut)
    assert run.manifest.rows("reported_total") == 2
