"""A capture without GPU work says which of several things it is."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.nsys_schemas import RELEASES, make_export
from tests.support.nsys_story import ROWS
from tests.support.rows import rows_of_run
from tests.support.tables import Row
from tracekit.convert import Request, convert

# What every capture holds, whatever became of it.
_TABLES = ("StringIds", "TARGET_INFO_SYSTEM_ENV", "TARGET_INFO_GPU", "ThreadNames")
_ERROR = {
    "timestamp": 7,
    "timestampType": 1,
    "source": 1,
    "severity": 3,
    "text": "CUDA injection failed",
}


def said(
    tmp_path: Path,
    tables: Sequence[str],
    request: Request | None = None,
    **more: Sequence[Row],
) -> list[tuple[str, str]]:
    rows = {name: ROWS[name] for name in (*_TABLES, *tables)}
    export = make_export(tmp_path / "x.sqlite", RELEASES[-1], {**rows, **more})
    run = convert([export], tmp_path / "run", request)
    return [
        (row["severity"], row["text"])
        for row in rows_of_run(run, "diagnostic")
        if row["source"] == "converter" and row["severity"] != "info"
    ]


def test_no_event_at_all_is_a_failed_capture(tmp_path: Path) -> None:
    assert said(tmp_path, []) == [
        (
            "error",
            "the capture failed or recorded nothing: it holds no event of any kind",
        )
    ]


def test_the_profilers_own_error_is_quoted(tmp_path: Path) -> None:
    ((severity, text),) = said(tmp_path, [], DIAGNOSTIC_EVENT=[_ERROR])
    assert severity == "error"
    assert text.endswith("of any kind; nsys said: CUDA injection failed")


def test_nvtx_alone(tmp_path: Path) -> None:
    ((severity, text),) = said(tmp_path, ["NVTX_EVENTS", "META_DATA_CAPTURE"])
    assert severity == "warning"
    assert text == (
        "no GPU activity: the capture holds NVTX events alone; CUDA was traced, and "
        "none was recorded"
    )


def test_calls_whose_work_was_not_recorded(tmp_path: Path) -> None:
    tables = ["CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"]
    ((_, text),) = said(tmp_path, tables, DIAGNOSTIC_EVENT=[_ERROR])
    assert text.startswith("no GPU activity, though CUDA was called: ")
    assert text.endswith("; nsys said: CUDA injection failed")


def test_other_events_are_named(tmp_path: Path) -> None:
    tables = ["OSRT_API", "GPU_METRICS", "TARGET_INFO_GPU_METRICS"]
    ((_, text),) = said(tmp_path, tables)
    assert text.startswith("no GPU activity, only counter_sample, os_call: ")


@pytest.mark.parametrize("table", ["KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"])
def test_any_gpu_work_is_gpu_work(table: str, tmp_path: Path) -> None:
    assert said(tmp_path, [f"CUPTI_ACTIVITY_KIND_{table}"]) == []


def test_work_that_was_not_asked_for_is_not_missed(tmp_path: Path) -> None:
    request = Request(tables=frozenset({"api_call"}))
    tables = ["CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"]
    assert said(tmp_path, tables, request) == []
