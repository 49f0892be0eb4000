"""Full disks, killed and concurrent conversions, signals and closed pipes."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import finish, run, start
from tests.support.exports import DEMO, export_in
from tracekit.store.run import is_run, open_run

KERNELS = 2175
_LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({n}, {n}))"
# Every write of a new file is held up, so that a signal finds a conversion at work.
_SLOW = """
import time
from tracekit.store.table_writer import TableWriter
_append = TableWriter.append
def _slowly(self, rows):
    time.sleep(0.05)
    _append(self, rows)
TableWriter.append = _slowly
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; only root can mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("command", ["convert", "scrub"])
def test_a_full_disk_is_said_and_nothing_stays(
    command: str, small_disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = run(capfd, command, DEMO, "-o", small_disk / "made")
    assert ran.status == 4
    assert ran.error == (
        f"{small_disk / 'made'}: the disk is full or a limit is reached "
        "(No space left on device); nothing was left behind"
    )
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("kilobytes", [1, 20, 200])
@pytest.mark.parametrize("command", ["convert", "scrub"])
def test_a_limit_on_files_is_said_and_the_old_result_stays(
    command: str, kilobytes: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    export = export_in(tmp_path)
    made = tmp_path / "made"
    assert run(capfd, command, export, "-o", made).status == 0
    before = {path: path.stat().st_mtime_ns for path in sorted(made.rglob("*"))}
    content = made.read_bytes() if made.is_file() else b""
    limit = _LIMIT.format(n=kilobytes * 1000)
    ran = finish(start(command, DEMO, "-o", made, "--force", before=limit))
    assert ran.status == 4, ran.err
    assert ran.error.startswith(f"{made}: the disk is full or a limit is reached (")
    assert {path: path.stat().st_mtime_ns for path in sorted(made.rglob("*"))} == before
    assert not content or made.read_bytes() == content
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kinds.sqlite", "made"]


def _at_work(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a conversion has begun to write."""
    until = time.monotonic() + 60
    while not list(folder.glob(".tracekit-unfinished-*/*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.5])
def test_a_killed_conversion_leaves_no_run(
    seconds: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    process = start("convert", DEMO, "-o", out / "run", before=_SLOW)
    _at_work(out, process)
    time.sleep(seconds)
    process.kill()
    assert finish(process).status == -signal.SIGKILL
    assert not (out / "run").exists()
    assert not any(is_run(path) for path in out.iterdir())
    assert run(capfd, "convert", DEMO, "-o", out / "run").status == 0
    assert [path.name for path in out.iterdir()] == ["run"]
    assert open_run(out / "run").manifest.rows("kernel") == KERNELS


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_ends_a_conversion_cleanly(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    process = start("convert", DEMO, "-o", out / "run", before=_SLOW)
    _at_work(out, process)
    process.send_signal(number)
    ran = finish(process)
    assert ran.status == status
    assert "Traceback" not in ran.err
    assert list(out.iterdir()) == []


def test_two_conversions_to_one_place_make_one_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    started = [start("convert", DEMO, "-o", out / "run", before=_SLOW) for _ in "ab"]
    ended = [finish(process) for process in started]
    assert sorted(ran.status for ran in ended) == [0, 2]
    (late,) = (ran for ran in ended if ran.status == 2)
    assert late.error == f"{out / 'run'} exists already"
    assert [path.name for path in out.iterdir()] == ["run"]
    assert open_run(out / "run").manifest.rows("kernel") == KERNELS


def test_two_queries_of_one_raw_capture_both_answer(tmp_path: Path) -> None:
    export = export_in(tmp_path)
    query = ("query", "kernels.hotspots", export, "-f", "csv")
    first, second = [finish(p) for p in [start(*query, before=_SLOW) for _ in "ab"]]
    assert (first.status, second.status) == (0, 0), first.err + second.err
    assert first.out == second.out
    assert len(list((tmp_path / ".tracekit").glob("*/manifest.json"))) == 1


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    export = export_in(tmp_path)
    query = ("sql", "SELECT * FROM range(1000000)", export, "-f", "csv")
    process = start(*query)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 0
    assert "Traceback" not in err
    assert "Error" not in err


def test_a_result_that_finds_no_room_is_said(small_disk: Path, tmp_path: Path) -> None:
    export = export_in(tmp_path)
    assert finish(start("query", "kernels.hotspots", export)).status == 0
    target = small_disk / "result.parquet"
    query = ("sql", "SELECT range, random() FROM range(1000000)", export)
    handle = os.open(target, os.O_WRONLY | os.O_CREAT)
    process = start(*query, "-f", "parquet", out=handle)
    os.close(handle)
    ran = finish(process)
    assert ran.status == 4
    assert ran.error == ("the result cannot be written: No space left on device")
