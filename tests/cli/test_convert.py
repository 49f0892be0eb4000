"""`tracekit convert`, `info`, `demo` and `clean` on the recorded demo."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.test_query import run_cli
from tests.support.ncu import identity, raw_page
from tests.support.nsys_schemas import RELEASES, make_export
from tests.support.nsys_story import ROWS
from tests.support.shared import ROOT
from tracekit.schema import VERSION

DEMO = ROOT / "fixtures" / "demo" / "resnet50.sqlite.zst"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return Path(shutil.copy(DEMO, tmp_path))


def test_convert_says_what_it_read_and_left_behind(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "out.run"
    assert run_cli("convert", capture, "-o", run) == 0
    streams = capfd.readouterr()
    assert streams.out == ""
    assert "2,175 kernel" in streams.err
    assert streams.err.endswith(f"Wrote {run}\n")


def test_convert_refuses_to_replace_a_run_unless_told(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "out.run"
    assert run_cli("convert", capture, "-o", run, "-q") == 0
    assert run_cli("convert", capture, "-o", run, "-q") == 2
    assert capfd.readouterr().err.startswith(f"Error: {run} exists already")
    assert run_cli("convert", capture, "-o", run, "-q", "--force") == 0


def test_convert_never_replaces_what_is_no_run(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    assert run_cli("convert", capture, "-o", folder, "--force") == 2
    assert capfd.readouterr().err.startswith(f"Error: {folder} exists and is no run")
    assert (folder / "thesis.tex").read_text() == "years of work"


def test_tables_and_time_limit_what_is_made(capture: Path, tmp_path: Path) -> None:
    run = tmp_path / "out.run"
    options = ("--tables", "kernel", "--time", "20ms:40ms")
    assert run_cli("convert", capture, "-o", run, "-q", *options) == 0
    kernels = pq.read_table(run / "kernel" / "rank=0" / "part-0.parquet")
    starts = kernels["start_ns"].to_pylist()
    assert 0 < len(starts) < 2175
    assert min(starts) >= 20_000_000
    assert max(starts) < 40_000_000
    assert not (run / "api_call").exists()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["absent"]["api_call"] == "left out by --tables"
    assert {
        "what": "kernel",
        "count": 2175 - len(starts),
        "reason": "starts outside of --time",
    } in manifest["skipped"]


def test_an_unknown_table_is_refused(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.run"
    assert run_cli("convert", capture, "-o", out, "--tables", "kernels") == 2
    assert "Error: there is no table `kernels`" in capfd.readouterr().err


def test_the_same_capture_gives_the_same_bytes(capture: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run_cli("convert", capture, "-o", tmp_path / name, "-q") == 0
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.*"))
    assert files
    for file in files:
        if (tmp_path / "a" / file).is_file():
            assert (tmp_path / "a" / file).read_bytes() == (
                tmp_path / "b" / file
            ).read_bytes()


def test_info_reads_a_raw_capture(
    capture: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli("info", capture) == 0
    out = capfd.readouterr().out
    assert "NVIDIA H200" in out
    assert "kernel                  2,175" in out
    assert run_cli("info", capture, "--json") == 0
    (manifest,) = json.loads(capfd.readouterr().out)
    assert manifest["schema_version"] == VERSION


def test_a_raw_capture_is_converted_once(
    capture: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert run_cli("query", "gpu.utilization", capture, "-f", "csv") == 0
    assert "0,99346454,50339651,51463388," in capfd.readouterr().out
    cache = capture.parent / ".tracekit"
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 1
    assert cache.stat().st_mode & 0o777 == 0o700


def test_a_folder_with_a_link_to_nothing_can_be_asked(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.move(capture, folder)
    (folder / "dead").symlink_to(tmp_path / "nothing")
    assert run_cli("query", "gpu.utilization", folder, "-f", "csv") == 0
    assert "0,99346454,50339651,51463388," in capfd.readouterr().out


def test_a_run_is_no_capture(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "out.run"
    run_cli("convert", capture, "-o", run, "-q")
    for command in ("convert", "scrub"):
        assert run_cli(command, run, "-o", tmp_path / "again") == 3
        error = capfd.readouterr().err
        assert error.startswith("Error: out.run is a run already, no capture\n")


def test_clean_removes_caches_and_no_runs(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_cli("query", "gpu.utilization", capture, "-q")
    run_cli("convert", capture, "-o", tmp_path / "kept.run", "-q")
    assert run_cli("clean", tmp_path, "--dry-run") == 0
    assert (tmp_path / ".tracekit").exists()
    assert run_cli("clean", tmp_path) == 0
    assert not (tmp_path / ".tracekit").exists()
    assert (tmp_path / "kept.run" / "manifest.json").exists()
    assert f"Removed {tmp_path / '.tracekit'}" in capfd.readouterr().err


def test_demo(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    assert run_cli("demo") == 0
    out = capfd.readouterr().out
    assert "50,339,651" in out
    assert "bn_bw_1C11_kernel_new" in out


def test_a_capture_that_failed_is_a_warning_as_a_run_came_of_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    export = make_export(
        tmp_path / "x.sqlite", RELEASES[-1], {"StringIds": ROWS["StringIds"]}
    )
    assert run_cli("convert", export, "-o", tmp_path / "run") == 0
    said = capfd.readouterr().err
    assert "Warning: the capture failed or recorded nothing" in said
    assert "Error" not in said


def test_counters_without_a_timeline_are_told_as_that(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "counters.csv"
    units = {"launch__waves": ""}
    page.write_text(raw_page(units, [(identity(0, "gemm"), ("1",))]))
    assert run_cli("convert", page, "-o", tmp_path / "run") == 0
    assert capfd.readouterr().err.splitlines()[-2] == (
        "Counters (ncu): 1 measured launches, and no kernel of a timeline to match "
        "them with"
    )
