"""Samples beside a timeline are put onto its clock and its GPUs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.rows import rows, rows_of_run
from tracekit.convert import convert
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import Run

_BASE_NS = 1_700_000_000_000_000_000
_UUID = "01234567-89ab-cdef-0123-456789abcdef"


def samples(
    folder: Path, gpus: list[dict[str, str]], facts: dict[str, str] | None = None
) -> Path:
    path = folder / "net.samples.jsonl"
    header = {"tracekit_samples": 1, "host": "box", "gpus": gpus, "facts": facts or {}}
    line = {
        "t": _BASE_NS + 5_000,
        "cpu_s": [1.0],
        "gpu": [[1e9 + number, None, None, None] for number in range(len(gpus))],
    }
    path.write_text(f"{json.dumps(header)}\n{json.dumps(line)}\n")
    return path


def kineto(folder: Path, *, base: int | None = _BASE_NS, devices: int = 1) -> Path:
    """Write a trace with a kernel from 1 to 3 µs on each device."""
    trace: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [
            {"id": number, "name": "NVIDIA H200"} for number in range(devices)
        ],
        "traceEvents": [
            {
                "ph": "X",
                "cat": "kernel",
                "name": "k",
                "pid": number,
                "tid": 7,
                "ts": 1,
                "dur": 2,
                "args": {"device": number, "stream": 7, "correlation": number + 1},
            }
            for number in range(devices)
        ],
    }
    if base is not None:
        trace["baseTimeNanoseconds"] = base
    path = folder / "trace.json"
    path.write_text(json.dumps(trace))
    return path


def gpu_samples(run: Run) -> list[tuple[Any, ...]]:
    found = rows(run, "counter_sample", "source", "device_id", "time_ns", "value")
    return [row[1:] for row in found if row[0] == "nvml"]


@pytest.mark.parametrize("samples_first", [False, True])
def test_times_are_of_the_clock_of_the_timeline(
    tmp_path: Path, *, samples_first: bool
) -> None:
    captures = [kineto(tmp_path), samples(tmp_path, [{"name": "NVIDIA H200"}])]
    if samples_first:
        captures.reverse()
    run = convert(captures, tmp_path / "net.run")
    (kernel,) = rows(run, "kernel", "start_ns", "end_ns", "device_id")
    assert run.manifest.ranks[0].origin_utc_ns == _BASE_NS
    assert kernel[:2] == (1_000, 3_000)
    # The only GPU of both is one.
    assert gpu_samples(run) == [(kernel[2], 5_000, 1e9)]
    assert len(rows_of_run(run, "device")) == 1
    assert run.manifest.window is not None
    assert run.manifest.window.end_ns == 3_000


def test_without_a_clock_in_utc_they_are_left_out(tmp_path: Path) -> None:
    captures = [
        kineto(tmp_path, base=None),
        samples(tmp_path, [{"name": "NVIDIA H200"}], {"torch": "2.11"}),
    ]
    run = convert(captures, tmp_path / "net.run")
    assert run.manifest.ranks[0].origin_utc_ns is None
    assert not rows_of_run(run, "counter_sample")
    (skipped,) = run.manifest.skipped
    assert (skipped.what, skipped.count) == ("row", 2)
    assert "2.11" in {row["value"] for row in rows_of_run(run, "run_fact")}


def test_of_several_gpus_without_identity_none_is_guessed(tmp_path: Path) -> None:
    gpus = [{"name": "NVIDIA H200"}, {"name": "NVIDIA H200", "uuid": _UUID}]
    run = convert(
        [kineto(tmp_path, devices=2), samples(tmp_path, gpus)], tmp_path / "net.run"
    )
    assert gpu_samples(run) == []
    assert len(rows_of_run(run, "device")) == 2
    (skipped,) = run.manifest.skipped
    assert (skipped.what, skipped.count) == ("row", 2)


def test_alone_they_are_a_run_in_utc(tmp_path: Path) -> None:
    gpus = [{"name": "a", "uuid": _UUID}, {"name": "b", "bus": "00000000:0A:00.0"}]
    run = convert([samples(tmp_path, gpus)], tmp_path / "net.run")
    assert gpu_samples(run) == [
        (0, _BASE_NS + 5_000, 1e9),
        (1, _BASE_NS + 5_000, 1e9 + 1),
    ]
    assert rows(run, "device", "name", "uuid", "bus") == [
        ("a", _UUID, None),
        ("b", None, "0000:0a:00.0"),
    ]
    assert run.manifest.window is None


def test_facts_are_of_the_run(tmp_path: Path) -> None:
    facts = {"torch": "2.11", "env.HF_TOKEN": "hf_abc", "cpu_cores": "8"}
    captures = [kineto(tmp_path), samples(tmp_path, [], facts)]
    run = convert(captures, tmp_path / "net.run")
    found = {row["key"]: row for row in rows_of_run(run, "run_fact")}
    assert found["torch"]["value"] == "2.11"
    assert found["cpu_cores"]["source"] == "collect"
    assert "hf_abc" not in str(found)


def test_a_newer_version_and_a_damaged_start_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.samples.jsonl"
    path.write_text('{"tracekit_samples":2}\n')
    with pytest.raises(UnreadableTraceError, match="version 2"):
        convert([path], tmp_path / "net.run")
    path.write_text('{"tracekit_samples":1, "gpus": ')
    with pytest.raises(UnreadableTraceError, match="damaged in its first line"):
        convert([path], tmp_path / "net.run")


@pytest.mark.parametrize(
    "line",
    [
        '{"t": 99999999999999999999, "cpu_s": [1]}',
        '{"t": -1, "cpu_s": [1]}',
        '{"t": 1, "x": ' + "[" * 10_000 + "]" * 10_000 + "}",
    ],
    ids=["beyond 64 bits", "negative", "deep"],
)
def test_a_line_that_cannot_be_costs_itself(line: str, tmp_path: Path) -> None:
    path = tmp_path / "net.samples.jsonl"
    good = '{"t": 5, "tree_s": 0.5}'
    path.write_text(f'{{"tracekit_samples": 1}}\n{line}\n{good}\n')
    run = convert([path], tmp_path / "net.run")
    assert run.manifest.rows("counter_sample") == 1
    assert [(n.what, n.count) for n in run.manifest.skipped] == [("line", 1)]
