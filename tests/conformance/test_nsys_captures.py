"""What a capture of Nsight Systems is, it says: failed, graphs, two processes."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Converted
from tests.support.columnar import columnar_copy
from tests.support.command import run as command
from tests.support.rows import all_rows, rows_of_run
from tests.support.shared import NSYS, exact, needs_shared
from tracekit.convert import convert
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

pytestmark = needs_shared

FAILED = NSYS / "public" / "dynamicvit_no_gpu_data.sqlite"
NVTX_ONLY = NSYS / "public" / "ecf_nvtx_only.sqlite"
GRAPH = NSYS / "h200" / "graphs_graph.sqlite"
PROCESSES = NSYS / "h200" / "multiproc.sqlite"


EXPORTS = sorted(NSYS.glob("public/*.sqlite")) or [FAILED]


def messages(run: Run) -> list[tuple[str, str]]:
    return [
        (row["severity"], row["text"])
        for row in rows_of_run(run, "diagnostic")
        if row["source"] == "converter" and row["severity"] != "info"
    ]


def select(capture: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{capture}?immutable=1", uri=True)) as export:
        return export.execute(query).fetchall()


def test_a_failed_capture_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = command(capfd, "convert", FAILED, "-o", tmp_path / "run")
    assert done.status == 0
    assert done.err.splitlines()[0] == (
        "Warning: the capture failed or recorded nothing: it holds no event of any kind"
    )


def test_a_capture_of_nvtx_alone_says_so(converted: Converted) -> None:
    run = converted(NVTX_ONLY)
    assert messages(run) == [
        (
            "warning",
            "no GPU activity: the capture holds NVTX events alone; the export holds "
            "none and does not say whether CUDA was traced",
        )
    ]
    ((ranges,),) = select(
        NVTX_ONLY,
        "SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60)",
    )
    assert run.manifest.rows("annotation") == ranges > 0


def test_graphs_traced_as_a_whole_are_busy_and_not_idle(converted: Converted) -> None:
    run = converted(GRAPH)
    (row,) = run_module(load_module("gpu.utilization"), [run]).table.to_pylist()
    (device,) = exact(GRAPH)["devices"].values()
    assert row["gpu_busy_ns"] == device["gpu_busy_ns"]
    assert row["kernel_busy_ns"] == device["kernel_busy_ns"]
    # By far most of the work is inside the graphs.
    assert row["gpu_busy_ns"] > 2 * row["kernel_busy_ns"]
    assert row["kernel_is_lower_bound"]
    launches = select(GRAPH, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    assert [(run.manifest.rows("graph_launch"),)] == launches


def test_launches_are_joined_within_a_process(converted: Converted) -> None:
    """Brute force over the export: process and correlation id, never the id alone."""
    kernels = select(
        PROCESSES,
        "SELECT globalPid >> 24, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL",
    )
    calls = select(
        PROCESSES,
        "SELECT globalTid >> 24, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME"
        " WHERE eventClass IN (0, 1, 13)",
    )
    by_both = Counter(calls)
    by_id_alone = Counter(correlation for _, correlation in calls)
    joined = sum(by_both[kernel] for kernel in kernels)
    wrong = sum(by_id_alone[correlation] for _, correlation in kernels)
    assert wrong > joined, "the capture has no ids that both processes use"

    run = converted(PROCESSES)
    found = [
        (row["process_id"], row["correlation_id"]) for row in rows_of_run(run, "kernel")
    ]
    ours = Counter(
        (row["process_id"], row["correlation_id"])
        for row in rows_of_run(run, "api_call")
        if row["domain"] != "backtrace"
    )
    assert sum(ours[kernel] for kernel in found) == joined
    answer = run_module(load_module("launches.trace"), [run], {"limit": "0"})
    rows = answer.table.to_pylist()
    assert len({row["process_id"] for row in rows}) == 2
    of_kernels = [row for row in rows if row.get("kernel_name")]
    assert len(of_kernels) == joined


@pytest.mark.parametrize("capture", EXPORTS, ids=lambda path: path.stem)
def test_the_columnar_form_of_any_version_gives_the_same_rows(
    capture: Path, converted: Converted, tmp_path: Path
) -> None:
    folder = columnar_copy(capture, tmp_path / f"{capture.stem}_dir")
    run = convert([folder], tmp_path / "run")
    assert all_rows(run) == all_rows(converted(capture))
