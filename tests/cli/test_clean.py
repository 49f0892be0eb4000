"""`tracekit clean`: caches go, runs stay."""

from pathlib import Path

import pytest

from tests.support.command import WITHOUT_PRIVILEGE, finish, run, start, take_away
from tests.support.exports import export_in


def test_a_folder_that_is_not_there_is_a_mistake(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = run(capfd, "clean", tmp_path / "nothing")
    assert (ran.status, ran.out) == (2, b"")
    assert ran.error == f"there is no folder {tmp_path / 'nothing'}"


def test_dry_run_names_the_folders_on_standard_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(capfd, "clean", tmp_path, "--dry-run").err == (
        "There is nothing to remove\n"
    )
    run(capfd, "info", export_in(tmp_path), "-q")
    ran = run(capfd, "clean", tmp_path, "--dry-run")
    assert ran.out.decode() == f"{tmp_path / '.tracekit'}\n"
    assert (tmp_path / ".tracekit").is_dir()


def test_what_a_dead_process_left_goes_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / ".tracekit-unfinished-abc"
    left.mkdir()
    (left / "lock").touch()
    (left / "run").mkdir()
    assert run(capfd, "clean", tmp_path).err == "Removed 1 unfinished runs\n"
    assert list(tmp_path.glob(".tracekit*")) == []


def test_a_cache_that_may_not_be_removed_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run(capfd, "info", export_in(tmp_path), "-q")
    cache = tmp_path / ".tracekit"
    (cache / "kept").mkdir()
    (cache / "kept" / "file").touch()
    take_away(cache / "kept")
    ran = finish(start("clean", tmp_path, before=WITHOUT_PRIVILEGE))
    assert ran.status == 4
    assert ran.error == f"{cache}: cannot write: Permission denied"


def test_dry_run_removes_nothing_and_leaves_runs_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capture = export_in(tmp_path / "a")
    run(capfd, "info", capture, "-q")
    run(capfd, "convert", capture, "-o", tmp_path / "a" / "run", "-q")
    (tmp_path / ".tracekit-unfinished-abc").mkdir()
    before = sorted(tmp_path.rglob("*"))
    ran = run(capfd, "clean", tmp_path, "--dry-run")
    assert (ran.status, ran.out.decode()) == (0, f"{tmp_path / 'a' / '.tracekit'}\n")
    assert sorted(tmp_path.rglob("*")) == before
    # What it said is what goes.
    run(capfd, "clean", tmp_path)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "kinds.sqlite",
        "run",
    ]
