"""`.ncu-rep`: without NVIDIA's package, and with it on what is no report."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.command import run as run_command
from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.convert.readers import ncu_report, reader_for
from tracekit.errors import UnreadableTraceError

MAGIC = b"NVR\0"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "gemm.ncu-rep"
    path.write_bytes(MAGIC + bytes(64))
    return path


def test_without_the_package_one_line_says_what_to_install(
    report: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ncu_report, "find_spec", lambda _: None)
    ran = run_command(capfd, "convert", report, "-o", tmp_path / "run")
    assert ran.status == 4
    assert ran.error == "reading gemm.ncu-rep needs NVIDIA's package ncu-report"
    assert "pip install 'tracekit[ncu]'" in ran.err
    assert "ncu --csv --page raw --import gemm.ncu-rep" in ran.err


def test_the_content_tells_the_format(report: Path, tmp_path: Path) -> None:
    renamed = report.rename(tmp_path / "notes.txt")
    assert reader_for(renamed).name == "ncu-report"


def stand_in(text: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Put a program in the place of the one that runs NVIDIA's code."""
    (folder / "stand_in_for_ncu.py").write_text(text)
    monkeypatch.setattr(ncu_report, "_PROGRAM", "stand_in_for_ncu")
    monkeypatch.setattr(ncu_report, "find_spec", lambda _: object())
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{':'.join(sys.path)}")


def test_results_become_rows(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = {
        "launch__grid_dim_x": (8, ""),
        "launch__grid_dim_y": (1, ""),
        "launch__grid_dim_z": (1, ""),
        "launch__device_id": (0, ""),
        "profiler__replayer_passes": (5.0, "pass"),
        "dram__bytes.sum": (1.5, "Mbyte"),
        "launch__func_cache_config": ("CachePreferNone", ""),
        "broken__ratio": ("nan", "%"),
        "device__attribute_display_name": ("NVIDIA H200", ""),
        "empty": (None, None),
    }
    kernel = {"name": "add(int)", "symbol": "_Z3addi", "metrics": metrics}
    lines = [json.dumps(kernel), "chatter of a library", json.dumps({"name": None})]
    stand_in(f"print({chr(10).join(lines)!r})", monkeypatch, tmp_path)
    run = convert([report], tmp_path / "run")
    rows = {row["metric"]: row for row in rows_of_run(run, "kernel_metric")}
    dram = rows["dram__bytes.sum"]
    assert (dram["value"], dram["unit"], dram["passes"]) == (1_500_000.0, "byte", 5)
    assert (dram["kernel_name"], dram["mangled_name"]) == ("add(int)", "_Z3addi")
    assert (dram["grid_x"], dram["block_x"]) == (8, None)
    assert {"broken__ratio", "empty", "launch__func_cache_config"}.isdisjoint(rows)
    (device,) = rows_of_run(run, "device")
    assert device["name"] == "NVIDIA H200"
    skipped = {n.what: n.count for n in run.manifest.skipped}
    assert skipped == {"broken__ratio": 1, "launch__func_cache_config": 1, "ncu": 1}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("raise RuntimeError('wrong version')", "RuntimeError: wrong version"),
        ("import os; os.abort()", "it ended with -6"),
        ("pass", "holds no results"),
    ],
)
def test_a_crash_of_the_package_is_one_line(
    program: str,
    message: str,
    report: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in(program, monkeypatch, tmp_path)
    with pytest.raises(UnreadableTraceError, match=message) as caught:
        convert([report], tmp_path / "run")
    assert "\n" not in str(caught.value)
