"""The recorded rocprofv3 JSON equals an independent pass over its integers."""

import json
from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.rows import rows_of_run
from tests.support.shared import TRACES, needs_shared
from tracekit.query import load_module, run_module

pytestmark = needs_shared

CAPTURES = sorted((TRACES / "rocprof").glob("*.json.gz")) or [Path("none")]


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_counts_sums_and_busy_time(capture: Path, converted: Converted) -> None:
    expected = json.loads(Path(f"{capture}.exact.json").read_text())
    run = converted(capture)
    assert run.manifest.rows("kernel") == expected["kernel_dispatch"]
    tables = {
        "memory_copy": "memcpy",
        "memory_allocation": "memory_event",
        "marker_api": "annotation",
        "rccl_api": "library_call",
        "hip_api": "api_call",
    }
    for theirs, ours in tables.items():
        assert run.manifest.rows(ours) == expected["buffer_records"][theirs]
    rows = run_module(load_module("gpu.utilization"), [run]).table.to_pylist()
    totals: dict[int, list[int]] = {}
    for kernel in rows_of_run(run, "kernel"):
        total = totals.setdefault(kernel["device_id"], [0, 0])
        total[0] += 1
        total[1] += kernel["end_ns"] - kernel["start_ns"]
    found = sorted(
        (*totals[row["device_id"]], row["window_ns"], row["gpu_busy_ns"])
        for row in rows
    )
    names = ("events", "sum_dur_ns", "span_ns", "busy_union_ns")
    agents = expected["per_agent"].values()
    assert found == sorted(tuple(agent[name] for name in names) for agent in agents)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_every_kernel_has_its_names(capture: Path, converted: Converted) -> None:
    kernels = rows_of_run(converted(capture), "kernel")
    assert all(kernel["name"] for kernel in kernels)
    assert not [k for k in kernels if ".kd" in k["name"] + (k["mangled_name"] or "")]
