"""A capture that the native collector made on an H200."""

import tomllib
from pathlib import Path

import pytest

import tracekit
from tests.support.command import ROOT, run
from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.store.run import Run

CAPTURE = ROOT / "fixtures" / "cupti" / "a3c.cupti.zst"
ORIGIN = tomllib.loads((CAPTURE.parent / "a3c.origin.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return convert([CAPTURE], tmp_path_factory.mktemp("a3c") / "a3c.run")


def test_every_record_is_a_row(recorded: Run) -> None:
    tables = {table: recorded.manifest.rows(table) for table in ORIGIN["rows"]}
    assert tables == ORIGIN["rows"]
    assert not recorded.manifest.skipped
    assert not recorded.manifest.rejected


def test_the_sums_are_those_of_a_plain_pass(recorded: Run) -> None:
    exact = ORIGIN["exact"]
    window = recorded.manifest.window
    assert window is not None
    assert window.end_ns - window.start_ns == exact["window_ns"]
    trace = tracekit.open(recorded.path)
    busy = trace.query("gpu.utilization").to_arrow().to_pylist()[0]
    assert busy["kernel_busy_ns"] == exact["kernel_busy_ns"]
    assert busy["gpu_busy_ns"] == exact["gpu_busy_ns"]
    kernels = rows_of_run(recorded, "kernel")
    assert (
        len({row["mangled_name"] or row["name"] for row in kernels})
        == exact["kernel_names"]
    )
    copied = sum(row["bytes"] for row in rows_of_run(recorded, "memcpy"))
    assert copied == exact["copied_bytes"]


def test_all_gpu_work_has_its_launch(recorded: Run) -> None:
    launches = (
        tracekit.open(recorded.path)
        .sql("SELECT count(call_name) AS launched FROM launch")
        .to_arrow()
    )
    assert launches.to_pylist() == [{"launched": ORIGIN["exact"]["launched"]}]


def test_the_device_is_known(recorded: Run) -> None:
    (device,) = rows_of_run(recorded, "device")
    assert device["name"] == ORIGIN["gpu"]
    assert (device["sm_count"], device["compute_capability"]) == (132, "9.0")
    assert recorded.manifest.gpus == [ORIGIN["gpu"]]


def test_nothing_tells_of_the_machine(recorded: Run) -> None:
    (process,) = rows_of_run(recorded, "process")
    assert (process["host"], process["name"]) == (None, None)
    assert recorded.manifest.command is None


def test_scrubbing_again_keeps_all_records(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    again = tmp_path / "again.cupti"
    assert run(capfd, "scrub", CAPTURE, "-o", again).status == 0
    counts = convert([again], tmp_path / "again.run").manifest
    assert {name: counts.rows(name) for name in ORIGIN["rows"]} == ORIGIN["rows"]
