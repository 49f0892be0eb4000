"""Captures that are damaged, cut, foreign or absurd: one line each, nothing left."""

import gzip
import os
import random
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command import (
    WITHOUT_PRIVILEGE,
    Ran,
    finish,
    run,
    start,
    take_away,
)
from tests.support.exports import KINDS, decompressed, export_in, folder_of

COMMANDS = ("convert", "scrub")


def refused(
    capfd: pytest.CaptureFixture[str], command: str, capture: Path, out: Path
) -> Ran:
    """Run a command that must fail and leave nothing; return what it printed."""
    out.mkdir()
    ran = run(capfd, command, capture, "-o", out / "made")
    assert ran.status == 3, ran.err
    assert ran.out == b""
    assert list(out.iterdir()) == []
    return ran


def _zero(folder: Path) -> Path:
    path = folder / "x.sqlite"
    path.touch()
    return path


def _text(folder: Path) -> Path:
    path = folder / "x.sqlite"
    path.write_text("Generating SQLite file x.sqlite from x.nsys-rep\n")
    return path


def _random(folder: Path) -> Path:
    path = folder / "x.sqlite"
    path.write_bytes(random.Random(1).randbytes(100_000))
    return path


def _other_database(folder: Path) -> Path:
    path = folder / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (name)")
        connection.execute("CREATE TABLE cities (name)")
    return path


def _no_tables(folder: Path) -> Path:
    path = folder / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE a (b)")
        connection.execute("DROP TABLE a")
    return path


def _damaged_pages(folder: Path) -> Path:
    path = export_in(folder, name="x.sqlite")
    content = bytearray(path.read_bytes())
    # The tables are listed on the first page, which stays whole.
    content[4096:] = random.Random(2).randbytes(len(content) - 4096)
    path.write_bytes(content)
    return path


def _journal(folder: Path) -> Path:
    path = export_in(folder, name="x.sqlite")
    path.with_name("x.sqlite-journal").write_bytes(b"\xd9\xd5\x05\xf9" * 200)
    return path


def _missing(folder: Path) -> Path:
    return folder / "x.sqlite"


def _dangling(folder: Path) -> Path:
    path = folder / "x.sqlite"
    path.symlink_to(folder / "moved")
    return path


def _pipe(folder: Path) -> Path:
    path = folder / "x.sqlite"
    os.mkfifo(path)
    return path


def _socket(folder: Path) -> Path:
    path = folder / "x.sqlite"
    with closing(socket.socket(socket.AF_UNIX)) as server:
        # A socket's path may hold 107 bytes.
        here = Path.cwd()
        os.chdir(folder)
        try:
            server.bind("x.sqlite")
        finally:
            os.chdir(here)
    return path


def _empty_folder(folder: Path) -> Path:
    path = folder / "x.sqlite"
    path.mkdir()
    return path


def _cut_gzip(folder: Path) -> Path:
    path = folder / "x.sqlite.gz"
    path.write_bytes(gzip.compress(decompressed(KINDS))[:50_000])
    return path


def _cut_zstd(folder: Path) -> Path:
    path = folder / "x.sqlite.zst"
    path.write_bytes(KINDS.read_bytes()[:20_000])
    return path


def _packed_text(folder: Path) -> Path:
    path = folder / "x.sqlite.gz"
    path.write_bytes(gzip.compress(b"no capture"))
    return path


CASES: list[tuple[Callable[[Path], Path], str]] = [
    (_zero, "{path} is empty (0 bytes)"),
    (
        _text,
        "no reader accepts x.sqlite: it begins with 'Generating SQLite file x'",
    ),
    (
        _random,
        "no reader accepts x.sqlite: it begins with the bytes "
        + random.Random(1).randbytes(100_000)[:8].hex(" "),
    ),
    (
        _other_database,
        "x.sqlite is a SQLite file, but no profiler's: its tables are cities, people",
    ),
    (
        _no_tables,
        "x.sqlite is a SQLite file, but no profiler's: its tables are none",
    ),
    (_damaged_pages, "x.sqlite is not a complete SQLite file: "),
    (
        _journal,
        "x.sqlite is still being written, or its export was cut short: "
        "x.sqlite-journal lies beside it",
    ),
    (_missing, "{path} does not exist"),
    (_dangling, "{path} is a link to nothing"),
    (_pipe, "{path} is a pipe or a device, no file"),
    (_socket, "{path} is a pipe or a device, no file"),
    (_empty_folder, "no reader accepts the folder x.sqlite: it is empty"),
    (_cut_gzip, "x.sqlite.gz is damaged or cut short: "),
    (_cut_zstd, "x.sqlite.zst is damaged or cut short: "),
    (_packed_text, "no reader accepts x.sqlite"),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("make", "line"), CASES, ids=[make.__name__ for make, _ in CASES]
)
def test_what_is_no_capture_is_refused_in_one_line(
    command: str,
    make: Callable[[Path], Path],
    line: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    capture = make(tmp_path)
    ran = refused(capfd, command, capture, tmp_path / "out")
    assert ran.error.startswith(line.format(path=capture))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("share", [50, 4096, 0.1, 0.5, 0.9, -4096, -1])
def test_a_sqlite_file_cut_anywhere_is_refused(
    command: str, share: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capture = export_in(tmp_path)
    content = capture.read_bytes()
    end = int(share * len(content)) if abs(share) < 1 else int(share)
    capture.write_bytes(content[:end])
    ran = refused(capfd, command, capture, tmp_path / "out")
    size = capture.stat().st_size
    expected = (
        f"it ends after {size} bytes"
        if size < 100
        else f"it has {size:,} of {len(content):,} bytes"
    )
    assert ran.error == f"kinds.sqlite is not a complete SQLite file: {expected}"
    assert "Hint: copy or export it again" in ran.err


def _spoil_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _spoil_zero(path: Path) -> None:
    path.write_bytes(b"")


def _spoil_text(path: Path) -> None:
    path.write_text("not yet")


def _spoil_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("gone")


def _spoil_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _spoil_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _spoil_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[8 : len(content) // 2] = bytes(len(content) // 2 - 8)
    path.write_bytes(content)


SPOILS = [
    _spoil_half,
    _spoil_zero,
    _spoil_text,
    _spoil_link,
    _spoil_folder,
    _spoil_pipe,
    _spoil_middle,
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("spoil", SPOILS)
def test_a_folder_with_a_damaged_table_is_refused(
    command: str,
    kind: str,
    spoil: Callable[[Path], None],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder = folder_of(export_in(tmp_path), tmp_path / "kinds", kind)
    table = f"CUPTI_ACTIVITY_KIND_KERNEL.{kind}"
    spoil(folder / table)
    ran = refused(capfd, command, folder, tmp_path / "out")
    assert ran.error.startswith(
        f"kinds/{table} is incomplete, so its export did not end: "
    )
    assert "Hint: export it again" in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_without_its_strings_is_refused(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(export_in(tmp_path), tmp_path / "kinds", "parquet")
    (folder / "StringIds.parquet").unlink()
    ran = refused(capfd, command, folder, tmp_path / "out")
    assert ran.error == (
        "kinds is incomplete: it holds no StringIds, so its export did not end"
    )


def _file(folder: Path) -> tuple[Path, Path]:
    capture = export_in(folder)
    return capture, capture


def _folder(folder: Path) -> tuple[Path, Path]:
    made = folder_of(export_in(folder), folder / "kinds", "parquet")
    return made, made


def _table(folder: Path) -> tuple[Path, Path]:
    made, _ = _folder(folder)
    return made, made / "StringIds.parquet"


def _below(folder: Path) -> tuple[Path, Path]:
    capture = export_in(folder / "private")
    return capture, folder / "private"


@pytest.mark.parametrize("command", ["convert", "scrub", "info"])
@pytest.mark.parametrize("make", [_file, _folder, _table, _below])
def test_what_may_not_be_read_is_said(
    command: str, make: Callable[[Path], tuple[Path, Path]], tmp_path: Path
) -> None:
    capture, private = make(tmp_path)
    take_away(private)
    out = tmp_path / "out"
    out.mkdir()
    options = () if command == "info" else ("-o", out / "made")
    ran = finish(start(command, capture, *options, before=WITHOUT_PRIVILEGE))
    assert ran.status == 3
    assert ran.out == b""
    assert "Permission denied" in ran.error
    assert capture.name in ran.error
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_that_may_not_be_written_is_said(command: str, tmp_path: Path) -> None:
    capture = export_in(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    take_away(out)
    ran = finish(start(command, capture, "-o", out / "made", before=WITHOUT_PRIVILEGE))
    assert ran.status == 4
    assert ran.error == f"{out}: cannot write: Permission denied"
    assert list(out.iterdir()) == []


def test_a_cache_goes_elsewhere_if_it_cannot_be_beside(tmp_path: Path) -> None:
    capture = export_in(tmp_path / "data")
    (tmp_path / "data").chmod(0o555)
    cache = tmp_path / "cache"
    ran = finish(
        start(
            *("query", "kernels.hotspots", capture, "-f", "csv"),
            before=WITHOUT_PRIVILEGE,
            environment={"XDG_CACHE_HOME": str(cache)},
        )
    )
    (tmp_path / "data").chmod(0o755)
    assert ran.status == 0, ran.err
    assert ran.out.count(b"\n") > 1
    assert [path.name for path in (tmp_path / "data").iterdir()] == [capture.name]
    assert list(cache.glob("tracekit/*/manifest.json"))


def test_no_cache_at_all_is_said(tmp_path: Path) -> None:
    capture = export_in(tmp_path / "data")
    (tmp_path / "data").chmod(0o555)
    ran = finish(
        start(
            *("query", "kernels.hotspots", capture),
            before=WITHOUT_PRIVILEGE,
            environment={"XDG_CACHE_HOME": str(tmp_path / "data" / "cache")},
        )
    )
    (tmp_path / "data").chmod(0o755)
    assert ran.status == 4
    assert ran.error.startswith("no cache can be made: ")
    assert "Hint: set XDG_CACHE_HOME" in ran.err
