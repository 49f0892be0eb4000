"""Queries equal the reports of `nsys stats`, row by row and digit by digit."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.nsys_stats import (
    Column,
    assert_equal,
    capture_of,
    key,
    reports,
    statistics,
)
from tests.support.shared import needs_shared
from tracekit.query import load_module, run_module

pytestmark = needs_shared


@dataclass(frozen=True)
class Report:
    """A report, the query that equals it, and how."""

    name: str
    query: str
    columns: tuple[Column, ...]
    parameters: dict[str, str] = field(default_factory=dict)


REPORTS = (
    Report(
        "cuda_gpu_kern_sum",
        "kernels.hotspots",
        (*statistics(), key("Name", "kernel_name")),
        {"limit": "0"},
    ),
)


# Without the collection there is nothing to compare, and one case is skipped.
CASES = [
    pytest.param(report, path, id=path.stem)
    for report in REPORTS
    for path in reports(report.name)
] or [pytest.param(REPORTS[0], Path("none"), id="none")]


@pytest.mark.parametrize(("report", "path"), CASES)
def test_report(report: Report, path: Path, converted: Converted) -> None:
    run = converted(capture_of(path))
    answer = run_module(load_module(report.query), [run], report.parameters)
    assert_equal(path, answer.table.to_pylist(), report.columns)
