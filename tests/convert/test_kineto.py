"""Recorded PyTorch traces: every row against a plain pass over the events."""

import gzip
import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.exports import FIXTURES
from tests.support.kineto import rows, union_ns
from tracekit.convert import convert
from tracekit.query import load_module, run_module

RECORDED = sorted((FIXTURES / "kineto").glob("*.json.gz"))


def exact_events(path: Path) -> list[dict[str, Any]]:
    """Read a trace whole, its times as integer nanoseconds of their digits."""
    text = gzip.decompress(path.read_bytes())
    events: list[dict[str, Any]] = json.loads(text, parse_float=Decimal)["traceEvents"]
    for event in events:
        event["start"] = int(Decimal(event["ts"]) * 1000)
        event["end"] = event["start"] + int(Decimal(event.get("dur", 0)) * 1000)
    return events


@pytest.mark.parametrize("capture", RECORDED, ids=lambda path: path.name)
def test_a_recorded_trace(capture: Path, tmp_path: Path) -> None:
    run = convert([capture], tmp_path / "run")
    stem = capture.name.partition(".")[0]
    origin = tomllib.loads((capture.parent / f"{stem}.origin.toml").read_text())
    assert {t: run.manifest.rows(t) for t in origin["rows"]} == origin["rows"]
    assert run.manifest.gpus == [origin["gpu"]]
    assert [(n.what, n.count) for n in run.manifest.skipped] == [("instant", 2)]
    assert not run.manifest.repaired
    events = exact_events(capture)
    work = [
        (event["start"], event["end"])
        for event in events
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    ]
    (row,) = run_module(load_module("gpu.utilization"), [run]).table.to_pylist()
    assert row["window_ns"] == max(e for _, e in work) - min(s for s, _ in work)
    assert row["gpu_busy_ns"] == union_ns(work)


@pytest.mark.parametrize("capture", RECORDED, ids=lambda path: path.name)
def test_every_kernel_and_operator_is_as_recorded(
    capture: Path, tmp_path: Path
) -> None:
    run = convert([capture], tmp_path / "run")
    events = exact_events(capture)
    kernels = [
        (
            event["start"],
            event["end"],
            event["name"],
            event["args"]["correlation"],
            tuple(event["args"]["grid"]),
            tuple(event["args"]["block"]),
            event["args"]["registers per thread"],
            event["args"]["shared memory"],
        )
        for event in events
        if event.get("cat") == "kernel"
    ]
    found = [
        (
            row["start_ns"],
            row["end_ns"],
            row["name"],
            row["correlation_id"],
            (row["grid_x"], row["grid_y"], row["grid_z"]),
            (row["block_x"], row["block_y"], row["block_z"]),
            row["registers_per_thread"],
            row["shared_bytes"],
        )
        for row in rows(run, "kernel")
    ]
    assert sorted(found) == sorted(kernels)
    operators = [
        (
            event["start"],
            event["end"],
            event["name"],
            json.dumps(event["args"].get("Input Dims"), separators=(",", ":")),
            event["args"].get("Sequence number"),
        )
        for event in events
        if event.get("cat") == "cpu_op"
    ]
    shown = [
        (
            row["start_ns"],
            row["end_ns"],
            row["name"],
            row["input_shapes"] or "null",
            row["sequence"],
        )
        for row in rows(run, "operator")
    ]
    assert sorted(map(str, shown)) == sorted(map(str, operators))


@pytest.mark.parametrize("capture", RECORDED, ids=lambda path: path.name)
def test_links_join_both_ends(capture: Path, tmp_path: Path) -> None:
    run = convert([capture], tmp_path / "run")
    expected = []
    events = exact_events(capture)
    for category, kind in (("fwdbwd", "forward_backward"), ("ac2g", "launch")):
        ends = [event for event in events if event.get("cat") == category]
        finishes = {e["id"]: e["start"] for e in ends if e["ph"] == "f"}
        expected += [
            (kind, e["id"], e["start"], finishes[e["id"]])
            for e in ends
            if e["ph"] == "s" and e["id"] in finishes
        ]
    found = [
        (row["kind"], row["flow_id"], row["start_ns"], row["end_ns"])
        for row in rows(run, "flow")
    ]
    assert found
    assert sorted(found) == sorted(expected)
