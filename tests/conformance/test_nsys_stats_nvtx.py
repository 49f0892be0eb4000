"""Queries on ranges equal the NVTX reports of `nsys stats`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Converted
from tests.support.nsys_stats import (
    Column,
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
from tests.support.shared import needs_shared
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

pytestmark = needs_shared

Complete = Callable[[Run, Iterable[Mapping[str, Any]]], Iterable[Mapping[str, Any]]]


def as_answered(
    _run: Run, rows: Iterable[Mapping[str, Any]]
) -> Iterable[Mapping[str, Any]]:
    """Return the rows as they are."""
    return rows


@dataclass(frozen=True)
class Report:
    """A report, the query that equals it, and how.

    `complete` adds what the report prints and the query does not say.
    """

    name: str
    query: str
    columns: tuple[Column, ...]
    parameters: dict[str, str]
    complete: Complete = as_answered


STYLES = {"push_pop": "PushPop", "start_end": "StartEnd", None: None}


def style(row: Row) -> str | None:
    """Return the kind of a range as reports print it."""
    return STYLES[row["kind"]]


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
)

# Reports whose queries are still to come.
NOT_YET = {"nvtx_gpu_proj_sum", "nvtx_gpu_proj_trace"}

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
    compared = {report.name for report in REPORTS} | NOT_YET
    for folder in stats_folders():
        found = {path.stem for path in folder.glob("*_nvtx_*.csv")}
        assert found == {f"{folder.stem}_{name}" for name in compared}
