"""Every PyTorch trace opens, and equals an independent pass over its integers."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Converted
from tests.support.kineto import (
    OWN,
    PUBLIC,
    Calls,
    key_averages,
    oracles,
    rows,
    traces,
    union_ns,
)
from tests.support.shared import needs_shared
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

pytestmark = needs_shared

ORACLES = oracles()
SINGLE = [name for name in ORACLES if ".tar" not in name]
SINGLE_TRACES = [path for path in traces() if ".tar" not in path.name]
KEYED = sorted(OWN.glob("*.kineto.json.gz")) or [Path("none")]
GPU = ("kernel", "memcpy", "memset")
CATEGORIES = {
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "gpu_memset": "memset",
    "cuda_sync": "sync",
    "cpu_op": "operator",
    "python_function": "python_function",
    "overhead": "overhead",
}
COMMUNICATION = re.compile("nccl|rccl", re.IGNORECASE)


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ORACLES[name].read_text())
    return found


def intervals(found: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["start_ns"], row["end_ns"]) for row in found]


def ordinal_of(run: Run) -> dict[int, str]:
    """Return the ordinal of each device_id, as the passes name devices."""
    found = {row["device_id"]: row["cuda_ordinal"] for row in rows(run, "context")}
    return {device: str(ordinal) for device, ordinal in found.items()}


@pytest.mark.parametrize("capture", SINGLE_TRACES, ids=lambda path: path.name)
def test_trace_opens(capture: Path, converted: Converted) -> None:
    run = converted(capture)
    assert run.manifest.source.format == "kineto"
    assert run.manifest.tables
    # Nothing in these files is damaged.
    assert not run.manifest.repaired
    assert not [note for note in run.manifest.skipped if note.what == "event"]


@pytest.mark.parametrize("name", SINGLE)
def test_rows_of_each_category(name: str, converted: Converted) -> None:
    run, oracle = converted(PUBLIC / name), expected(name)
    counts: Counter[str] = Counter()
    for category, count in oracle["cat"].items():
        if category in CATEGORIES:
            counts[CATEGORIES[category]] += count
        elif category in ("cuda_runtime", "cuda_driver", "Runtime"):
            counts["api_call"] += count
        elif category in ("user_annotation", "gpu_user_annotation"):
            counts["annotation"] += count
    tables = {*CATEGORIES.values(), "api_call", "annotation"}
    assert {table: run.manifest.rows(table) for table in tables} == {
        table: counts[table] for table in tables
    }


@pytest.mark.parametrize("name", SINGLE)
def test_steps(name: str, converted: Converted) -> None:
    found = {
        row["name"]: [row["start_ns"], row["end_ns"] - row["start_ns"]]
        for row in rows(converted(PUBLIC / name), "step")
        if row["source"] == "profiler"
    }
    assert found == expected(name)["steps"]


@pytest.mark.parametrize("name", SINGLE)
def test_span_and_busy_per_device(name: str, converted: Converted) -> None:
    devices = expected(name).get("per_device", {})
    answer = run_module(load_module("gpu.utilization"), [converted(PUBLIC / name)])
    found = [(row["window_ns"], row["gpu_busy_ns"]) for row in answer.table.to_pylist()]
    assert found == [
        (devices[device]["span_ns"], devices[device]["busy_union_ns"])
        for device in sorted(devices)
    ]


@pytest.mark.parametrize("name", SINGLE)
def test_unions_of_each_kind(name: str, converted: Converted) -> None:
    run, devices = converted(PUBLIC / name), expected(name).get("per_device", {})
    kinds: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in rows(run, "kernel"):
        kind = "comm" if COMMUNICATION.search(row["name"]) else "compute"
        kinds[kind].append((row["start_ns"], row["end_ns"]))
    for table in ("memcpy", "memset"):
        kinds["mem"] += intervals(rows(run, table))
    (totals,) = devices.values() if devices else ({},)
    for kind, ours in (("compute", "kernels"), ("comm", "kernels"), ("mem", "ops")):
        found = kinds[kind]
        assert len(found) == totals.get(f"{kind}_{ours}", 0)
        assert union_ns(found) == totals.get(f"{kind}_union_ns", 0)
        assert sum(e - s for s, e in found) == totals.get(f"{kind}_sum_ns", 0)
    overlap = (
        union_ns(kinds["comm"])
        + union_ns(kinds["compute"])
        - union_ns(kinds["comm"] + kinds["compute"])
    )
    assert overlap == totals.get("comm_overlapped_by_compute_ns", 0)
    # A communication kernel is a row of `collective` too.
    collectives = [r for r in rows(run, "collective") if r["source"] == "kernel"]
    assert sorted(intervals(collectives)) == sorted(kinds["comm"])


@pytest.mark.parametrize("name", SINGLE)
def test_streams(name: str, converted: Converted) -> None:
    run, devices = converted(PUBLIC / name), expected(name).get("per_device", {})
    (totals,) = devices.values() if devices else ({"streams": {}},)
    found = Counter(str(row["stream_id"]) for table in GPU for row in rows(run, table))
    assert found == totals["streams"]
    ordinals = ordinal_of(run)
    assert not ordinals or set(ordinals.values()) == set(devices)


@pytest.mark.parametrize("name", SINGLE)
def test_launches(name: str, converted: Converted) -> None:
    run, oracle = converted(PUBLIC / name), expected(name)
    calls = {row["correlation_id"] for row in rows(run, "api_call")}
    launched = [
        row["correlation_id"] in calls for table in GPU for row in rows(run, table)
    ]
    assert sum(launched) == oracle.get("gpu_with_launch", 0)
    assert len(launched) - sum(launched) == oracle.get("gpu_without_launch", 0)


@pytest.mark.parametrize("name", SINGLE)
def test_bytes_of_copies_and_fills(name: str, converted: Converted) -> None:
    run, oracle = converted(PUBLIC / name), expected(name)
    found: Counter[str] = Counter()
    for row in rows(run, "memcpy"):
        if row["bytes"] is not None:
            found[f"Memcpy {row['copy_kind']}"] += row["bytes"]
    for row in rows(run, "memset"):
        if row["bytes"] is not None:
            found["Memset"] += row["bytes"]
    theirs: Counter[str] = Counter()
    for label, total in oracle.get("memop_bytes", {}).items():
        kind = label.partition(" (")[0]
        theirs[kind] += total["bytes"]
    assert found == theirs


@pytest.mark.parametrize("name", SINGLE)
def test_collectives_have_the_recorded_operation(
    name: str, converted: Converted
) -> None:
    spelled = {
        "allreduce": "all_reduce",
        "_allgather_base": "all_gather",
        "None": "send_recv",
    }
    theirs = {
        spelled.get(operation, operation): count
        for operation, count in expected(name).get("collective_names", {}).items()
    }
    found = Counter(
        row["operation"]
        for row in rows(converted(PUBLIC / name), "collective")
        if row["source"] == "kernel"
    )
    assert found == theirs


@pytest.mark.parametrize("capture", KEYED, ids=lambda path: path.name)
def test_device_time_of_each_kernel_is_that_of_the_profiler(
    capture: Path, converted: Converted
) -> None:
    run, averages = converted(capture), key_averages(capture)
    times: dict[str, list[int]] = defaultdict(list)
    for row in rows(run, "kernel"):
        times[row["name"]].append(row["end_ns"] - row["start_ns"])
    assert times
    for name, durations in times.items():
        assert len(durations) == averages[name]["count"], name
        assert sum(durations) == round(averages[name]["self_device_us"] * 1000), name


@pytest.mark.parametrize("capture", KEYED, ids=lambda path: path.name)
def test_operators_count_as_the_profiler_counts(
    capture: Path, converted: Converted
) -> None:
    averages = key_averages(capture)
    run = converted(capture)
    names = {row["name"] for row in rows(run, "operator")}
    counts = Calls(run).counts()
    assert {name: counts[name] for name in names} == {
        name: averages[name]["count"] for name in names
    }


@pytest.mark.parametrize("capture", KEYED, ids=lambda path: path.name)
def test_device_time_of_each_operator_is_that_of_the_profiler(
    capture: Path, converted: Converted
) -> None:
    run, averages = converted(capture), key_averages(capture)
    calls = Calls(run)
    times: Counter[str] = Counter()
    for table in GPU:
        for row in rows(run, table):
            launcher = calls.launcher(row["correlation_id"])
            if launcher is not None:
                times[launcher] += row["end_ns"] - row["start_ns"]
    names = {row["name"] for row in rows(run, "operator")}
    assert {name: times[name] for name in names} == {
        name: round(averages[name]["self_device_us"] * 1000) for name in names
    }
