"""Recorded nvprof databases against a pass of the test's own over their rows."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.rows import rows_of_run
from tests.support.shared import TRACES, needs_shared
from tracekit.query import load_module, run_module

pytestmark = needs_shared

NVPROF = TRACES / "nvprof"
CAPTURES = sorted([*NVPROF.glob("*.nvprof"), *NVPROF.glob("*.nvvp")]) or [Path("none")]
PREFIX = "CUPTI_ACTIVITY_KIND_"
GPU = ("KERNEL", "CONCURRENT_KERNEL", "MEMCPY", "MEMSET")


def select(capture: Path, query: str) -> list[tuple[int, ...]]:
    uri = f"file:{capture}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute(query).fetchall()


def union_ns(intervals: list[tuple[int, ...]]) -> int:
    total, reached = 0, 0
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_counts_and_sums(capture: Path, converted: Converted) -> None:
    run = converted(capture)
    for ours, theirs in {
        "kernel": ("KERNEL", "CONCURRENT_KERNEL"),
        "memcpy": ("MEMCPY",),
        "memset": ("MEMSET",),
        "api_call": ("RUNTIME", "DRIVER"),
        "overhead": ("OVERHEAD",),
    }.items():
        rows = [
            row
            for table in theirs
            for row in select(capture, f"SELECT start, end FROM {PREFIX}{table}")
        ]
        found = rows_of_run(run, ours)
        assert sorted((r["start_ns"], r["end_ns"]) for r in found) == sorted(rows)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_window_and_busy_time(capture: Path, converted: Converted) -> None:
    intervals = [
        row
        for table in GPU
        for row in select(capture, f"SELECT start, end FROM {PREFIX}{table}")
    ]
    rows = run_module(load_module("gpu.utilization"), [converted(capture)]).table
    found = [(r["window_ns"], r["gpu_busy_ns"]) for r in rows.to_pylist()]
    if not intervals:
        assert found == []
        return
    window = max(end for _, end in intervals) - min(start for start, _ in intervals)
    assert found == [(window, union_ns(intervals))]


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_every_call_and_kernel_has_a_name(capture: Path, converted: Converted) -> None:
    run = converted(capture)
    assert not [r for r in rows_of_run(run, "api_call") if "callback" in r["name"]]
    assert not [r for r in rows_of_run(run, "kernel") if r["name"].startswith("_Z")]


def test_an_empty_database_says_so(converted: Converted) -> None:
    run = converted(NVPROF / "tbd_inception-tensorflow.nvvp")
    assert any(
        "nothing was recorded" in r["text"] for r in rows_of_run(run, "diagnostic")
    )
