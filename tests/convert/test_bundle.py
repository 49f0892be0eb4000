"""Folders and tar files of the captures of many ranks."""

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.exports import export_in, folder_of
from tests.support.kineto import rows
from tests.support.kineto_text import kernel, notes, text_of
from tests.support.nsys_program import REPORT
from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.errors import MissingToolError, UnreadableTraceError
from tracekit.tools import nsys


@pytest.fixture(autouse=True)
def _no_nsys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(nsys, "INSTALL_PATTERNS", ())


WHOLE = text_of([kernel(1), kernel(2), kernel(3)])


def tar_with(place: Path, change: Callable[[tarfile.TarInfo], None]) -> Path:
    path = place / "ranks.tar"
    with tarfile.open(path, "w") as archive:
        for rank in range(2):
            info = tarfile.TarInfo(f"ranks/rank-{rank}.json")
            content = WHOLE.encode()
            info.size = len(content)
            if rank == 1:
                change(info)
            archive.addfile(info, io.BytesIO(content) if info.isfile() else None)
    return path


def test_a_tar_of_ranks(tmp_path: Path) -> None:
    run = convert([tar_with(tmp_path, lambda _: None)], tmp_path / "run")
    assert run.ranks == (0, 1)
    assert run.manifest.rows("kernel") == 6


def test_devices_are_numbered_by_name_in_whatever_order_a_tar_has_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ranks.tar"
    with tarfile.open(path, "w") as archive:
        for rank in (2, 0, 1):
            info = tarfile.TarInfo(f"rank-{rank}.json")
            place = {"device": rank, "context": 1, "stream": 7, "correlation": 1}
            content = text_of([kernel(1, pid=rank, args=place)])
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content.encode()))
    run = convert([path], tmp_path / "run")
    found = [rows(run, "kernel", rank)[0]["device_id"] for rank in range(3)]
    assert found == [0, 1, 2]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "../rank-1.json"}, "points out"),
        ({"name": "ranks/../../rank-1.json"}, "points out"),
        ({"name": "/tmp/rank-1.json"}, "points out"),
        ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "link or a device"),
        (
            {"type": tarfile.LNKTYPE, "linkname": "ranks/rank-0.json"},
            "link or a device",
        ),
        ({"type": tarfile.CHRTYPE}, "link or a device"),
        ({"type": tarfile.FIFOTYPE}, "link or a device"),
    ],
)
def test_a_tar_that_points_elsewhere_is_refused(
    changes: dict[str, object], reason: str, tmp_path: Path
) -> None:
    def change(info: tarfile.TarInfo) -> None:
        for name, value in changes.items():
            setattr(info, name, value)

    place = tmp_path / "in" / "it"
    place.mkdir(parents=True)
    path = tar_with(place, change)
    with pytest.raises(UnreadableTraceError, match=reason):
        convert([path], tmp_path / "run")
    assert list(tmp_path.rglob("*")) == [tmp_path / "in", place, path]


MEMBER = 512 + -(-len(WHOLE) // 512) * 512
SECOND = "ranks/rank-1.json is cut off"
END = "its end is missing, and members may be with it"


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("size", "ranks", "lost"),
    [
        (MEMBER, (0,), [END]),
        (MEMBER + 100, (0,), [END]),
        (MEMBER + 512, (0,), [SECOND]),
        (MEMBER + 512 + len(WHOLE) - 1, (0,), [SECOND]),
        (MEMBER + 512 + len(WHOLE), (0, 1), [END]),
        (2 * MEMBER, (0, 1), [END]),
        (2 * MEMBER + 512, (0, 1), []),
    ],
)
def test_the_whole_members_of_a_tar_that_is_cut_off(
    size: int, ranks: tuple[int, ...], lost: list[str], suffix: str, tmp_path: Path
) -> None:
    path = tar_with(tmp_path, lambda _: None)
    content = path.read_bytes()[:size]
    if suffix:
        # Without the trailer of gzip.
        path = path.with_name("ranks.tar.gz")
        content = gzip.compress(content)[:-8]
    path.write_bytes(content)
    run = convert([path], tmp_path / "run")
    assert run.ranks == ranks
    assert run.manifest.rows("kernel") == 3 * len(ranks)
    noted = [note.reason for note in run.manifest.skipped if note.what == "tar"]
    told = "".join(row["text"] for row in rows_of_run(run, "diagnostic"))
    for loss in lost:
        assert loss in noted
        assert loss in told
    assert len(noted) == len(lost) + bool(suffix)


@pytest.mark.parametrize("size", [600, 512 + len(WHOLE) - 1])
def test_a_tar_without_a_whole_member(size: int, tmp_path: Path) -> None:
    path = tar_with(tmp_path, lambda _: None)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(
        UnreadableTraceError, match=r"rank-0\.json is cut off"
    ) as raised:
        convert([path], tmp_path / "run")
    assert raised.value.hint == "copy it again"


def test_a_tar_with_garbage_between_its_members(tmp_path: Path) -> None:
    path = tar_with(tmp_path, lambda _: None)
    content = bytearray(path.read_bytes())
    content[MEMBER : MEMBER + 512] = b"\xff" * 512
    path.write_bytes(content)
    run = convert([path], tmp_path / "run")
    assert run.ranks == (0,)
    assert notes(run, "skipped") == {f"tar: {END}": 1}


def test_a_tar_without_captures(tmp_path: Path) -> None:
    path = tmp_path / "notes.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("readme")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"hello"))
    with pytest.raises(UnreadableTraceError, match=r"no reader accepts notes\.tar"):
        convert([path], tmp_path / "run")


def test_other_files_beside_the_ranks_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    (folder / "a.txt").write_text("hello")
    (folder / "rank-3.json").write_text(WHOLE)
    (folder / ".hidden").write_text(WHOLE)
    (folder / "link.json").symlink_to(folder / "rank-3.json")
    run = convert([folder], tmp_path / "run")
    assert run.ranks == (3,)
    assert notes(run, "skipped") == {"file: beside the captures, and none itself": 1}


def test_two_files_of_one_rank(tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for name in ("a.json", "b.json"):
        (folder / name).write_text(WHOLE)
    with pytest.raises(UnreadableTraceError, match=r"a\.json and b\.json are both"):
        convert([folder], tmp_path / "run")


def test_a_report_beside_its_export_is_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    export_in(folder, name="x.sqlite")
    (folder / "x.nsys-rep").write_bytes(REPORT)
    made = convert([folder], tmp_path / "run")
    assert made.manifest.source.format == "nsys-sqlite"
    assert made.manifest.rows("kernel") == 116
    notes = {(n.what, n.reason, n.count) for n in made.manifest.skipped}
    assert ("report", "its SQLite export lies beside it", 1) in notes


def test_a_report_without_its_own_export_is_not_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    export_in(folder, name="x-rank-0.sqlite")
    (folder / "y-rank-1.nsys-rep").write_bytes(REPORT)
    with pytest.raises(MissingToolError, match=r"y-rank-1\.nsys-rep needs nsys"):
        convert([folder], tmp_path / "run")


def test_two_forms_of_one_capture_are_told(tmp_path: Path) -> None:
    first = export_in(tmp_path, name="x.sqlite")
    second = folder_of(first, tmp_path / "x.parquet", "parquet")
    with pytest.raises(UnreadableTraceError, match="are both rank 0") as raised:
        convert([first, second], tmp_path / "run")
    assert raised.value.hint == (
        "give one of them: by their names they are one capture"
    )


def test_two_captures_of_one_rank_are_told_both_ways_out(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(WHOLE)
    with pytest.raises(UnreadableTraceError) as raised:
        convert([tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "run")
    assert raised.value.hint == (
        "rename the files so that each holds its rank: rank-0, rank-1; or convert each "
        "by itself, if they are not of one job"
    )


def test_a_folder_that_cannot_be_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ranks"
    (folder / "proc").mkdir(parents=True)
    (folder / "rank-0.json").write_text(WHOLE)

    def gone(self: Path, pattern: str) -> list[Path]:
        raise OSError(5, "Input/output error", str(self / pattern))

    monkeypatch.setattr(Path, "rglob", gone)
    with pytest.raises(UnreadableTraceError, match="ranks: Input/output error"):
        convert([folder], tmp_path / "run")


def test_a_file_of_a_folder_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(2):
        (folder / f"rank-{rank}.json").write_text(WHOLE)
    opened = Path.open

    def refused(self: Path, mode: str = "r") -> IO[Any]:
        if self.name == "rank-1.json":
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, mode)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(UnreadableTraceError, match=r"rank-1\.json: Permission denied"):
        convert([folder], tmp_path / "run")
