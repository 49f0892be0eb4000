"""Every nsys capture opens, and equals an independent pass over its integers."""

from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.shared import exact, needs_shared, nsys_captures
from tracekit.query import load_module, run_module

pytestmark = needs_shared

CAPTURES = nsys_captures() or [Path("none")]
EXACT = [path for path in CAPTURES if path.with_suffix(".exact.json").exists()] or [
    Path("none")
]
TABLES = {
    "KERNEL": "kernel",
    "MEMCPY": "memcpy",
    "MEMSET": "memset",
    "GRAPH_TRACE": "graph_launch",
}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_capture_opens(capture: Path, converted: Converted) -> None:
    run = converted(capture)
    assert run.manifest.source.format.startswith("nsys-")
    assert run.manifest.tables


@pytest.mark.parametrize("capture", EXACT, ids=lambda path: path.stem)
def test_row_counts_and_sums(capture: Path, converted: Converted) -> None:
    run, expected = converted(capture), exact(capture)
    assert run.manifest.rows("api_call") == expected["api_calls"]
    for theirs, table in TABLES.items():
        counts = [d["counts"].get(theirs, 0) for d in expected["devices"].values()]
        assert run.manifest.rows(table) == sum(counts), table


@pytest.mark.parametrize("capture", EXACT, ids=lambda path: path.stem)
def test_utilization(capture: Path, converted: Converted) -> None:
    answer = run_module(load_module("gpu.utilization"), [converted(capture)])
    names = ("window_ns", "kernel_busy_ns", "gpu_busy_ns")
    found = [tuple(row[name] for name in names) for row in answer.table.to_pylist()]
    devices = exact(capture)["devices"]
    assert found == [
        tuple(devices[device][name] for name in names) for device in sorted(devices)
    ]


@pytest.mark.parametrize("capture", EXACT, ids=lambda path: path.stem)
def test_cpu_gpu_overlap(capture: Path, converted: Converted) -> None:
    answer = run_module(load_module("overlap.cpu_gpu"), [converted(capture)])
    names = ("both_ns", "cpu_only_ns", "gpu_only_ns", "neither_ns")
    found = [{name: row[name] for name in names} for row in answer.table.to_pylist()]
    devices = exact(capture)["devices"]
    assert found == [devices[device]["cpu_gpu"] for device in sorted(devices)]


@pytest.mark.parametrize("capture", EXACT, ids=lambda path: path.stem)
def test_gaps_fill_what_is_not_busy(capture: Path, converted: Converted) -> None:
    answer = run_module(
        load_module("gpu.idle_gaps"), [converted(capture)], {"limit": "0"}
    )
    rows = answer.table.to_pylist()
    devices = exact(capture)["devices"]
    idle = [
        devices[device]["window_ns"] - devices[device]["gpu_busy_ns"]
        for device in sorted(devices)
    ]
    found: dict[int, int] = {}
    for row in rows:
        assert row["duration_ns"] == row["end_ns"] - row["start_ns"] > 0
        found[row["device_id"]] = found.get(row["device_id"], 0) + row["duration_ns"]
    # The pass knows devices by their ordinal, which need not be their device_id.
    assert [found[device] for device in sorted(found)] == idle
    # Within the window something ends at the start of each gap, and begins at its end.
    assert all(row["before_activity"] and row["after_activity"] for row in rows)
