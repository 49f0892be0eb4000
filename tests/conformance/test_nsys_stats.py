"""Queries equal the reports of `nsys stats`, row by row and digit by digit."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.nsys_stats import (
    MEGA,
    Column,
    Report,
    Row,
    assert_equal,
    capture_of,
    key,
    megabytes,
    quantities,
    reports,
    statistics,
    stats_folders,
    with_recorded_ids,
)
from tests.support.shared import needs_shared
from tracekit.query import load_module, run_module

pytestmark = needs_shared


def triple(name: str) -> Callable[[Row], str]:
    """Return a grid or block as reports print it."""
    return lambda row: " ".join(str(row[f"{name}_{axis}"]) for axis in "xyz")


def memory(which: str) -> Callable[[Row], str | None]:
    """Return a memory kind as the trace prints it; that of a fill is its source."""
    place = {"source": "destination", "destination": "source"}

    def of(row: Row) -> str | None:
        if row["activity"] not in ("memcpy", "memset"):
            return None
        if row["activity"] == "memset" and which == "destination":
            return None
        side = place[which] if row["activity"] == "memset" else which
        kind = row[f"{side}_memory_kind"]
        # What the export calls unknown is NULL here.
        return "Unknown" if kind is None else kind.replace("_", " ").title()

    return of


OPERATION = (key("Category", "category"), key("Operation", "operation"))
KERNEL_EXECUTION = (
    *quantities("T", "total_"),
    *quantities("A", "api_"),
    # With nothing queued they print a deviation of 0 beside empty cells.
    *(
        Column(c.title, lambda row: row["queue_stddev_ns"] if row["queued"] else 0.0)
        if c.title == "QStdDev (ns)"
        else c
        for c in quantities("Q", "queue_")
    ),
    *quantities("K", "kernel_"),
)

REPORTS = (
    Report(
        "cuda_gpu_kern_sum",
        "kernels.hotspots",
        (*statistics(), key("Name", "kernel_name")),
        {"limit": "0"},
    ),
    Report(
        "cuda_gpu_kern_gb_sum",
        "kernels.by_shape",
        (
            *statistics(),
            key("GridXYZ", triple("grid")),
            key("BlockXYZ", triple("block")),
            key("Name", "kernel_name"),
        ),
        {"limit": "0"},
    ),
    Report(
        "cuda_gpu_sum",
        "gpu.summary",
        (*statistics(), *OPERATION),
        {"limit": "0", "graph_launches": "exclude"},
    ),
    Report(
        "cuda_gpu_trace",
        "gpu.trace",
        (
            Column("Start (ns)", "start_ns"),
            Column("Duration (ns)", "duration_ns"),
            Column("CorrId", "correlation_id"),
            Column("GrdX", "grid_x"),
            Column("GrdY", "grid_y"),
            Column("GrdZ", "grid_z"),
            Column("BlkX", "block_x"),
            Column("BlkY", "block_y"),
            Column("BlkZ", "block_z"),
            Column("Reg/Trd", "registers_per_thread"),
            Column("StcSMem (MB)", megabytes("static_shared_bytes")),
            Column("DymSMem (MB)", megabytes("dynamic_shared_bytes")),
            Column("Bytes (MB)", megabytes("bytes")),
            Column("Throughput (MB/s)", megabytes("bytes_per_second")),
            Column("SrcMemKd", memory("source")),
            Column("DstMemKd", memory("destination")),
            Column(
                "Device", lambda row: f"{row['device_name']} ({row['cuda_ordinal']})"
            ),
            Column("Ctx", "context_id"),
            Column("GreenCtx", "green_context_id"),
            Column("Strm", "stream_id"),
            Column("Name", "operation"),
        ),
        {"limit": "0", "graph_launches": "exclude", "throughput": "nsys"},
        with_recorded_ids,
    ),
    Report(
        "cuda_gpu_mem_time_sum",
        "copies.by_time",
        (*statistics(count="Count"), key("Operation", "operation")),
    ),
    Report(
        "cuda_gpu_mem_size_sum",
        "copies.by_size",
        (
            Column("Total (MB)", megabytes("total_bytes")),
            Column("Count", "count"),
            *quantities("", "", unit="MB", divisor=MEGA),
            key("Operation", "operation"),
        ),
    ),
    Report(
        "cuda_api_sum",
        "api.summary",
        (*statistics(count="Num Calls"), key("Name", "api_name")),
        {"limit": "0"},
    ),
    Report(
        "cuda_api_gpu_sum",
        "api.gpu_summary",
        (*statistics(), *OPERATION),
        {"limit": "0", "graph_launches": "exclude"},
    ),
    Report(
        "cuda_kern_exec_sum",
        "launches.summary",
        (
            key("PID", "os_pid"),
            key("TID", "os_tid"),
            key("DevId", "cuda_ordinal"),
            Column("Count", "launches"),
            Column("QCount", "queued"),
            *KERNEL_EXECUTION,
            key("API Name", "api_name"),
            key("Kernel Name", "kernel_name"),
        ),
        {"limit": "0"},
        with_recorded_ids,
    ),
    Report(
        "cuda_kern_exec_trace",
        "launches.trace",
        (
            Column("API Start (ns)", "api_start_ns"),
            Column("API Dur (ns)", "api_ns"),
            Column("Queue Start (ns)", "queue_start_ns"),
            Column("Queue Dur (ns)", "queue_ns"),
            Column("Kernel Start (ns)", "kernel_start_ns"),
            Column("Kernel Dur (ns)", "kernel_ns"),
            Column("Total Dur (ns)", "total_ns"),
            Column("PID", "os_pid"),
            Column("TID", "os_tid"),
            Column("DevId", "cuda_ordinal"),
            Column("API Function", "api_name"),
            Column("GridXYZ", triple("grid")),
            Column("BlockXYZ", triple("block")),
            Column("Kernel Name", "kernel_name"),
        ),
        {"limit": "0"},
        with_recorded_ids,
    ),
    Report(
        "osrt_sum",
        "os.summary",
        (*statistics(count="Num Calls"), key("Name", "function_name")),
        {"limit": "0"},
    ),
)

# Reports that the collection does not have. `cuda_kern_exec_trace` is compared where
# it does; `osrt_sum` was not made where OS calls were not traced.
NOT_PRINTED = {
    *((folder.stem, "cuda_kern_exec_trace") for folder in stats_folders()),
    ("graphs_graph", "osrt_sum"),
    ("graphs_node", "osrt_sum"),
}

# Without the collection there is nothing to compare, and one case is skipped.
CASES = [
    pytest.param(report, path, id=f"{report.name}-{path.parent.stem}")
    for report in REPORTS
    for path in reports(report.name)
] or [pytest.param(REPORTS[0], Path("none"), id="none")]


@pytest.mark.parametrize(("report", "path"), CASES)
def test_report(report: Report, path: Path, converted: Converted) -> None:
    run = converted(capture_of(path))
    answer = run_module(load_module(report.query), [run], report.parameters)
    rows = report.complete(run, answer.table.to_pylist())
    assert_equal(path, rows, report.columns)


def test_every_report_of_every_capture_is_compared() -> None:
    printed = {
        (path.parent.stem, report.name)
        for report in REPORTS
        for path in reports(report.name)
    }
    expected = {
        (folder.stem, report.name) for folder in stats_folders() for report in REPORTS
    }
    assert expected - printed == NOT_PRINTED


@pytest.mark.parametrize("stem", ["graphs_graph", "graphs_node"])
def test_without_os_calls_there_is_no_report(stem: str, converted: Converted) -> None:
    (folder,) = [path for path in stats_folders() if path.stem == stem]
    run = converted(folder.with_suffix(".sqlite"))
    assert run_module(load_module("os.summary"), [run]).table.num_rows == 0
