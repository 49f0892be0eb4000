"""`tracekit info`: what is in a run, as text and as JSON."""

import json
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.exports import export_in


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return export_in(tmp_path)


def test_info_says_what_is_in_a_run_and_what_is_not(
    capture: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(capfd, "info", capture, "-q")
    assert (done.status, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.decode().splitlines()]
    assert "Source nsys-sqlite, kinds.sqlite" in lines
    assert "kernel 116" in lines
    assert "GPUs NVIDIA H200" in lines
    assert "Ranks 0 (environment)" in lines
    assert lines.index("Tables") < lines.index("Not in this run")


def test_json_is_the_manifest(
    capture: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(capfd, "convert", capture, "-o", tmp_path / "run")
    done = run(capfd, "info", tmp_path / "run", "--json")
    (told,) = json.loads(done.out)
    assert told == json.loads((tmp_path / "run" / "manifest.json").read_bytes())


def test_several_runs_come_one_after_the_other(
    capture: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(capfd, "info", capture, capture)
    assert done.out.count(b"Source") == 2
    assert b"\n\nRun" in done.out
    assert len(json.loads(run(capfd, "info", capture, capture, "--json").out)) == 2


def test_a_folder_that_is_no_run_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    done = run(capfd, "info", tmp_path / "empty")
    assert (done.status, done.out) == (3, b"")
    assert done.error == "no reader accepts the folder empty: it is empty"
