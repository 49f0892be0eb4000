"""A record of iterations gives the steps of a capture their samples."""

import json
from pathlib import Path

import pytest

from tests.support.kineto import Row, rows
from tracekit.convert import convert
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import Run

PID = 70
BASE_NS = 10**18


def record(
    path: Path,
    steps: dict[int, tuple[int, int, float]],
    *,
    pid: int = PID,
    end: str = '{"outcome": "done", "losses": [4.0, 1.5]}',
) -> Path:
    first = {
        "tracekit_workload": 1,
        "pid": pid,
        "workload": "resnet50",
        "framework": "torch",
        "batch_size": 4,
        "unit": "images",
        "settings": {"width": 8},
        "cudnn": None,
    }
    lines = [json.dumps(first)]
    for number, (start, stop, samples) in steps.items():
        step = {"step": number, "start_ns": start, "end_ns": stop, "samples": samples}
        lines.append(json.dumps(step))
    path.write_text("\n".join([*lines, end]) + "\n")
    return path


def trace(path: Path, names: tuple[str, ...], *, pid: int = PID) -> Path:
    """Write a PyTorch trace with ranges of 100 µs, 1 s after its base time."""
    events = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": name,
            "pid": pid,
            "tid": pid,
            "ts": 1_000_000 + 100 * place,
            "dur": 90,
        }
        for place, name in enumerate(names)
    ]
    kernel = {
        "ph": "X",
        "cat": "kernel",
        "name": "k",
        "pid": 0,
        "tid": 7,
        "ts": 1_000_010,
        "dur": 5,
        "args": {"device": 0, "stream": 7, "correlation": 1},
    }
    path.write_text(
        json.dumps(
            {
                "schemaVersion": 1,
                "baseTimeNanoseconds": BASE_NS,
                "traceEvents": [*events, kernel],
            }
        )
    )
    return path


def told(run: Run) -> list[tuple[object, ...]]:
    names = ("step_index", "samples", "unit", "source")
    return [tuple(row[name] for name in names) for row in rows(run, "step")]


def facts(run: Run) -> Row:
    return {row["key"]: row["value"] for row in rows(run, "run_fact")}


def test_steps_of_the_profiler_get_their_samples(tmp_path: Path) -> None:
    capture = trace(tmp_path / "t.json", ("ProfilerStep#5", "ProfilerStep#6"))
    steps = {5: (1, 2, 4.0), 6: (2, 3, 3.5), 7: (3, 4, 4.0)}
    beside = record(tmp_path / "t.workload.jsonl", steps)
    run = convert([capture, beside], tmp_path / "t.run")
    assert told(run) == [(5, 4.0, "images", "profiler"), (6, 3.5, "images", "profiler")]
    assert run.manifest.name == "t"


def test_steps_of_ranges_get_their_samples(tmp_path: Path) -> None:
    capture = trace(tmp_path / "t.json", ("iteration 0", "iteration 1", "iteration 2"))
    beside = record(tmp_path / "t.workload.jsonl", {0: (1, 2, 4.0), 1: (2, 3, 8.0)})
    run = convert([beside, capture], tmp_path / "t.run")
    assert told(run) == [
        (0, 4.0, "images", "annotation"),
        (1, 8.0, "images", "annotation"),
        # The record ends before: what it does not say is not known.
        (2, None, None, "annotation"),
    ]


def test_the_times_are_the_captures(tmp_path: Path) -> None:
    capture = trace(tmp_path / "t.json", ("iteration 0", "iteration 1"))
    beside = record(tmp_path / "t.workload.jsonl", {0: (1, 2, 4.0), 1: (2, 3, 8.0)})
    run = convert([capture, beside], tmp_path / "t.run")
    first, second = rows(run, "step")
    assert second["start_ns"] - first["start_ns"] == 100_000
    assert first["end_ns"] - first["start_ns"] == 90_000


def test_a_record_is_for_its_own_process(tmp_path: Path) -> None:
    capture = trace(tmp_path / "t.json", ("iteration 0", "iteration 1"))
    one = record(tmp_path / "a.workload.jsonl", {0: (1, 2, 4.0), 1: (2, 3, 4.0)})
    other = record(
        tmp_path / "b.workload.jsonl", {0: (1, 2, 9.0), 1: (2, 3, 9.0)}, pid=71
    )
    run = convert([capture, other, one], tmp_path / "t.run")
    assert [samples for _, samples, _, _ in told(run)] == [4.0, 4.0]


def test_a_capture_without_steps_takes_those_of_the_record(tmp_path: Path) -> None:
    capture = trace(tmp_path / "t.json", ("forward", "backward"))
    beside = record(
        tmp_path / "t.workload.jsonl",
        {0: (BASE_NS + 1_000_000_000, BASE_NS + 1_000_050_000, 4.0)},
    )
    run = convert([capture, beside], tmp_path / "t.run")
    (step,) = rows(run, "step")
    (kernel,) = rows(run, "kernel")
    assert step["source"] == "workload"
    assert step["samples"] == 4.0
    assert step["start_ns"] <= kernel["start_ns"] < step["end_ns"]


def test_facts_say_what_was_trained(tmp_path: Path) -> None:
    capture = trace(tmp_path / "t.json", ("iteration 0", "iteration 1"))
    beside = record(tmp_path / "t.workload.jsonl", {0: (1, 2, 4.0)})
    found = facts(convert([capture, beside], tmp_path / "t.run"))
    assert found["workload"] == "resnet50"
    assert found["workload.framework"] == "torch"
    assert found["workload.settings"] == '{"width":8}'
    assert found["workload.outcome"] == "done"
    assert found["workload.first_loss"] == "4.0"
    assert found["workload.last_loss"] == "1.5"
    assert "workload.cudnn" not in found


def test_a_record_alone_is_a_run_without_a_profiler(tmp_path: Path) -> None:
    alone = record(tmp_path / "t.workload.jsonl", {0: (10, 20, 4.0), 1: (20, 30, 4.0)})
    run = convert([alone], tmp_path / "t.run")
    assert [(row["start_ns"], row["end_ns"]) for row in rows(run, "step")] == [
        (10, 20),
        (20, 30),
    ]
    (process,) = rows(run, "process")
    assert process["os_pid"] == PID


def test_a_record_that_is_cut_short_gives_what_it_has(tmp_path: Path) -> None:
    cut = record(
        tmp_path / "t.workload.jsonl", {0: (10, 20, 4.0)}, end='{"step": 1, "start_n'
    )
    run = convert([cut], tmp_path / "t.run")
    assert len(rows(run, "step")) == 1
    (note,) = [n for n in run.manifest.skipped if "record" in n.what]
    assert note.count == 1


def test_absurd_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    bad = "\n".join(
        [
            '{"step": -1, "start_ns": 1, "end_ns": 2}',
            '{"step": 1e400, "start_ns": 1, "end_ns": 2}',
            '{"step": 2, "start_ns": 99999999999999999999, "end_ns": 2}',
            '{"step": 3, "start_ns": 1, "end_ns": 2, "samples": -4}',
            '{"step": 4, "start_ns": 1, "end_ns": 2, "samples": NaN}',
            "[" * 5000,
            "null",
            "\xff",
        ]
    )
    path = record(tmp_path / "t.workload.jsonl", {0: (10, 20, 4.0)}, end=bad)
    run = convert([path], tmp_path / "t.run")
    assert [row["step_index"] for row in rows(run, "step")] == [0]
    assert sum(n.count for n in run.manifest.skipped) == 8


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.workload.jsonl"
    path.write_text('{"tracekit_workload": 2}\n')
    with pytest.raises(UnreadableTraceError, match="version 2"):
        convert([path], tmp_path / "t.run")
