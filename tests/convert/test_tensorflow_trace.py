"""Chrome traces of TensorFlow made by hand, with numbers one can check."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.rows import rows
from tracekit.convert import convert
from tracekit.convert.trace_events import picoseconds
from tracekit.store.run import Run

Fields = dict[str, Any]


def named(kind: str, name: str, pid: int, tid: int | None = None) -> Fields:
    event = {"ph": "M", "name": kind, "pid": pid, "args": {"name": name}}
    return event if tid is None else {**event, "tid": tid}


def viewer(*events: Fields) -> str:
    names = [
        named("process_name", "/device:GPU:0", 1),
        named("thread_name", "Stream #13(Compute)", 1, 13),
        named("thread_name", "XLA Ops", 1, 14),
        named("process_name", "/host:CPU", 2),
        named("thread_name", "python", 2, 77),
    ]
    # TensorFlow ends its list with an empty object.
    return json.dumps(
        {
            "displayTimeUnit": "ns",
            "metadata": {"highres-ticks": True},
            "traceEvents": [*names, *events, {}],
        }
    )


def span(
    name: str, pid: int, tid: int, ts: float, dur: float, /, **args: str
) -> Fields:
    fields = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return {**fields, "args": args}


def run_of(place: Path, text: str) -> Run:
    path = place / "t.trace.json"
    path.write_text(text)
    run = convert([path], place / "run")
    assert run.manifest.source.format == "tensorflow-trace"
    return run


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"55.341999999999999", 55_342_000),
        (b"0.0019999999999", 2_000),
        (b"1.9999", 1_999_900),
        (b"-0.5", -500_000),
        (b"1e3", 1_000_000_000),
        (b'"12.5"', 12_500_000),
        # A double of microseconds since 1970 tells a quarter of a microsecond.
        (b"1796087505434148.25", 1_796_087_505_434_148_250_000),
        (b"", None),
        (b"null", None),
        (b"NaN", None),
        (b"1e400", None),
        (b"{}", None),
    ],
)
def test_times_are_the_numbers_that_were_meant(
    text: bytes, expected: int | None
) -> None:
    assert picoseconds(msgspec.Raw(text)) == expected


def test_streams_launches_and_derived_lines(tmp_path: Path) -> None:
    details = "regs:32 static_shared:0 dynamic_shared:64 grid:8,1,1 block:256,1,1"
    run = run_of(
        tmp_path,
        viewer(
            span("gemm", 1, 13, 2.0005, 1, kernel_details=details, correlation_id="7"),
            span("gemm", 1, 14, 2.0005, 1),
            span("cuLaunchKernel", 2, 77, 1, 0.5, correlation_id="7"),
        ),
    )
    names = ["name", "correlation_id", "stream_id", "grid_x", "dynamic_shared_bytes"]
    assert rows(run, "kernel", *names) == [("gemm", 7, 13, 8, 64)]
    assert rows(run, "kernel", "start_ns", "end_ns") == [(2000, 3000)]
    assert rows(run, "api_call", "name", "correlation_id") == [("cuLaunchKernel", 7)]
    reasons = {note.what: note.count for note in run.manifest.skipped}
    assert reasons == {"events of the line XLA Ops": 1, "event": 1}


def test_operators_have_their_long_name_and_steps_their_number(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        viewer(
            span("train 3", 2, 77, 1, 9, step_num="3", step_name="train 3"),
            span("Conv2D", 2, 77, 2, 1, long_name="model/conv1/Conv2D:Conv2D"),
            span("Iterator", 2, 77, 3, 1, long_name="something else"),
        ),
    )
    assert rows(run, "operator", "name", "scope") == [("Conv2D", "model/conv1/Conv2D")]
    assert rows(run, "step", "step_index", "name", "start_ns", "end_ns") == [
        (3, "train 3", 1000, 10_000)
    ]
    assert rows(run, "annotation", "text") == [("train 3",), ("Iterator",)]


def test_names_may_come_after_the_events(tmp_path: Path) -> None:
    events = [span("MatMul", 2, 5, 1, 1, long_name="a/b:MatMul")]
    late = [named("process_name", "/host:CPU", 2), named("thread_name", "w", 2, 5)]
    head = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}}
    run = run_of(tmp_path, json.dumps({**head, "traceEvents": [*events, *late]}))
    assert rows(run, "thread", "name", "os_tid") == [("w", 5)]
    assert run.manifest.rows("operator") == 1


def test_the_timeline_of_tf1(tmp_path: Path) -> None:
    job = "/job:localhost/replica:0/task:0/device:"
    events = [
        named("process_name", f"{job}CPU:0 Compute", 1),
        named("process_name", f"{job}GPU:0/stream:all Compute", 2),
        named("process_name", f"{job}GPU:0/stream:13 Compute", 3),
        named("process_name", f"{job}GPU:0/memcpy Compute", 4),
        named("process_name", f"{job}CPU:0 Tensors", 5),
        named("process_name", f"{job}GPU:0 Compute", 6),
        span("MatMul", 1, 0, 1_600_000_000_000_000, 5, name="dense/MatMul"),
        span("Conv2D", 2, 0, 1_600_000_000_000_010, 4, name="conv/Conv2D"),
        span("Conv2D", 3, 0, 1_600_000_000_000_010, 4, name="conv/Conv2D"),
        span("MEMCPYHtoD", 4, 0, 1_600_000_000_000_020, 2, name="edge"),
        span("Relu", 6, 0, 1_600_000_000_000_000, 2, name="relu"),
        {"ph": "s", "cat": "DataFlow", "name": "x", "pid": 1, "tid": 0, "ts": 1},
        {"ph": "O", "cat": "Tensor", "name": "x", "pid": 5, "tid": 0, "ts": 1},
    ]
    run = run_of(tmp_path, json.dumps({"traceEvents": events}))
    assert rows(run, "operator", "name", "scope", "device_id") == [
        ("MatMul", "dense/MatMul", None),
        ("Relu", "relu", 0),
    ]
    names = ["name", "operator_name", "stream_id", "device_id", "end_ns"]
    assert rows(run, "kernel", *names) == [
        ("Conv2D", "conv/Conv2D", 13, 0, 1_600_000_000_000_014_000)
    ]
    assert rows(run, "memcpy", "copy_kind", "bytes") == [("HtoD", None)]
    assert run.manifest.ranks[0].origin_utc_ns == 0
    assert {note.what for note in run.manifest.skipped} == {
        "events of stream:all",
        "event of the kind s",
        "event of the kind O",
    }


def test_events_without_a_time_and_backwards(tmp_path: Path) -> None:
    broken = span("no time", 2, 77, 1, 1)
    del broken["ts"]
    back = span("back", 2, 77, 5, -1)
    run = run_of(tmp_path, viewer(broken, back, span("fine", 2, 77, 1, 1)))
    assert rows(run, "annotation", "text") == [("fine",)]
    assert rows(run, "rejected", "name") == [("back",)]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.999])
def test_a_cut_trace_keeps_its_whole_events(share: float, tmp_path: Path) -> None:
    events = [span(f"op{i}", 2, 77, i, 1) for i in range(50)]
    text = viewer(*events)
    run = run_of(tmp_path, text[: int(len(text) * share)])
    found = rows(run, "annotation", "text")
    assert found == [(f"op{i}",) for i in range(len(found))]
    assert 0 < len(found) <= 50
    assert run.manifest.repaired
