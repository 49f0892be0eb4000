"""Queries on ranges equal the NVTX reports of `nsys stats`."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Converted
from tests.support.nsys_stats import (
    Column,
    Report,
    Row,
    assert_equal,
    capture_of,
    key,
    quantities,
    reports,
    statistics,
    stats_folders,
    with_thread_numbers,
)
from tests.support.shared import needs_shared, nsys_captures
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

pytestmark = needs_shared

STYLES = {"push_pop": "PushPop", "start_end": "StartEnd", None: None}


def style(row: Row) -> str | None:
    """Return the kind of a range as reports print it."""
    return STYLES[row["kind"]]


def with_range_numbers(run: Run, rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Add the numbers of ranges as the export has them, where they begin.

    The export counts what is no range, such as the name of a domain, too.
    """
    (capture,) = (path for path in nsys_captures() if path.name == _file_of(run))
    with closing(sqlite3.connect(capture)) as connection:
        cursor = connection.execute(
            "SELECT globalTid & 0xffffff, start, end, rowid FROM NVTX_EVENTS"
        )
        numbers = {(tid, start, end): number for tid, start, end, number in cursor}
    completed = {
        row["annotation_id"]: {
            **row,
            "range_number": numbers[
                row["os_tid"], row["start_ns"], row["start_ns"] + row["duration_ns"]
            ],
        }
        for row in with_thread_numbers(run, rows)
    }
    for row in completed.values():
        stack = [row]
        while stack[0]["parent_id"] is not None:
            stack.insert(0, completed[stack[0]["parent_id"]])
        row["range_stack"] = "".join(f":{outer['range_number']}" for outer in stack)
        row["parent_number"] = stack[-2]["range_number"] if stack[1:] else None
    return list(completed.values())


def _file_of(run: Run) -> str:
    (file,) = run.manifest.source.files
    return file.name


REPORTS = (
    Report(
        "nvtx_sum",
        "annotations.summary",
        (*statistics(), key("Style", style), key("Range", "range_name")),
        {"limit": "0", "open_ranges": "until_last"},
    ),
    Report(
        "nvtx_pushpop_sum",
        "annotations.summary",
        (*statistics(), key("Range", "range_name")),
        {"limit": "0", "open_ranges": "until_last", "kinds": "push_pop"},
    ),
    Report(
        "nvtx_kern_sum",
        "annotations.kernels",
        (
            key("NVTX Range", "range_name"),
            key("Style", style),
            key("PID", "os_pid"),
            key("TID", "os_tid"),
            Column("NVTX Inst", "instances"),
            Column("Kern Inst", "launches"),
            Column("Total Time (ns)", "total_ns"),
            *quantities("", ""),
            key("Kernel Name", "kernel_name"),
        ),
        {"limit": "0", "ranges": "enclosing"},
        with_thread_numbers,
    ),
    Report(
        "nvtx_gpu_proj_sum",
        "annotations.gpu_projection",
        (
            key("Range", "range_name"),
            key("Style", style),
            Column("Total Proj Time (ns)", "total_gpu_ns"),
            Column("Total Range Time (ns)", "total_range_ns"),
            Column("Range Instances", "instances"),
            Column("Proj Avg (ns)", "mean_gpu_ns"),
            Column("Proj Med (ns)", "median_gpu_ns"),
            Column("Proj Min (ns)", "min_gpu_ns"),
            Column("Proj Max (ns)", "max_gpu_ns"),
            Column("Proj StdDev (ns)", "stddev_gpu_ns"),
            Column("Total GPU Ops", "operations"),
            Column("Avg GPU Ops", "mean_operations"),
            Column("Avg Range Lvl", "mean_level"),
            Column("Avg Num Child", "mean_children"),
        ),
        {"limit": "0", "graph_launches": "exclude"},
    ),
    Report(
        "nvtx_gpu_proj_trace",
        "annotations.gpu_projection_trace",
        (
            Column("Name", "range_name"),
            Column("Projected Start (ns)", "gpu_start_ns"),
            Column("Projected Duration (ns)", "gpu_ns"),
            Column("Orig Start (ns)", "start_ns"),
            Column("Orig Duration (ns)", "duration_ns"),
            Column("Style", style),
            Column("PID", "os_pid"),
            Column("TID", "os_tid"),
            Column("NumGPUOps", "operations"),
            Column("Lvl", "level"),
            Column("NumChild", "children"),
            Column("RangeId", "range_number"),
            Column("ParentId", "parent_number"),
            Column("RangeStack", "range_stack"),
        ),
        {"limit": "0", "graph_launches": "exclude"},
        with_range_numbers,
    ),
)

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


def test_every_nvtx_report_of_every_capture_is_compared() -> None:
    """Whatever report on ranges lies there is one of REPORTS, for every capture."""
    compared = {report.name for report in REPORTS}
    for folder in stats_folders():
        found = {path.stem for path in folder.glob("*_nvtx_*.csv")}
        assert found == {f"{folder.stem}_{name}" for name in compared}
