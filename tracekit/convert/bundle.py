"""Captures that come together: a folder or a tar file with those of many ranks."""

import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tracekit.convert.capture import check_exists, decompressed, files_in, size_of
from tracekit.convert.nsys.report import REPORT_SUFFIXES
from tracekit.convert.readers import find_reader, reader_for
from tracekit.convert.readers.base import Reader
from tracekit.convert.readers.nsys_sqlite import NsysSqliteReader
from tracekit.errors import UnreadableTraceError
from tracekit.store.unfinished import output_errors


@dataclass(frozen=True)
class Found:
    """A capture, ready to be read.

    Attributes:
        name: Its name as the user knows it, for the rank and for messages.
        path: The file or folder, decompressed.
        reader: What reads it.
        damages: What was wrong with its compression.
        skipped: Files before it that are no captures.
        reports: Reports before it whose SQLite export lies beside them.
        lost: What is missing of the tar file that it is of.
    """

    name: str
    path: Path
    reader: Reader
    damages: list[str] = field(default_factory=list)
    skipped: int = 0
    reports: int = 0
    lost: list[str] = field(default_factory=list)


def found_in(capture: Path, scratch: Path, destination: Path) -> Iterator[Found]:
    """Yield the capture, or those in the folder or tar file that it is.

    What is decompressed is gone when the next one is asked for, so that the disk
    holds one at a time.

    Args:
        capture: What the user gave.
        scratch: Where things may be put for a while.
        destination: What to name when the disk is full.

    Raises:
        UnreadableTraceError: No reader accepts it or anything in it, it is damaged,
            or a member of a tar file points out of it.
    """
    with ExitStack() as open_:
        damages: list[str] = []
        with output_errors(destination):
            plain = open_.enter_context(decompressed(capture, scratch, damages.append))
        reader = find_reader(plain)
        if reader is not None:
            yield Found(capture.name, plain, reader, damages)
            return
        # Of a tar file that is compressed as a whole.
        lost = damages
        if plain.is_dir():
            members = _in_folder(plain)
        elif tarfile.is_tarfile(plain):
            members = _in_tar(plain, scratch, capture.name, destination, lost)
        else:
            raise _unknown(capture, plain)
        skipped, reports, any_found = 0, 0, False
        for member in members:
            if _is_exported(member):
                reports += 1
                continue
            with ExitStack() as inner:
                damages = []
                check_exists(member)
                with output_errors(destination):
                    unpacked = inner.enter_context(
                        decompressed(member, _folder(inner, scratch), damages.append)
                    )
                reader = find_reader(unpacked)
                if reader is None:
                    skipped += 1
                    continue
                any_found = True
                yield Found(
                    member.name, unpacked, reader, damages, skipped, reports, lost
                )
                skipped, reports, lost = 0, 0, []
        if not any_found and lost:
            raise UnreadableTraceError(
                f"{capture.name} is damaged or cut short: {lost[0]}",
                hint="copy it again",
            )
        if not any_found:
            raise _unknown(capture, plain)


def _unknown(capture: Path, plain: Path) -> UnreadableTraceError:
    try:
        reader_for(plain)
    except UnreadableTraceError as error:
        return UnreadableTraceError(
            str(error).replace(plain.name, capture.name, 1), hint=error.hint
        )
    raise AssertionError("a reader accepts it")


def _in_folder(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that may be captures, by name; links are not."""
    for file in files_in(folder):
        if not file.is_symlink() and not _is_hidden(file.name) and size_of(file):
            yield file


def _is_exported(report: Path) -> bool:
    """Tell whether a report has its SQLite export beside it, as `nsys stats` leaves.

    The export says the same, and needs no nsys.
    """
    export = report.with_suffix(".sqlite")
    return (
        report.suffix in REPORT_SUFFIXES
        and export.is_file()
        and NsysSqliteReader().accepts(export)
    )


def _in_tar(
    plain: Path, scratch: Path, name: str, destination: Path, lost: list[str]
) -> Iterator[Path]:
    """Yield the files of a tar file, one on the disk at a time.

    Args:
        plain: The tar file, decompressed.
        scratch: Where the files are put.
        name: Its name as the user knows it.
        destination: What to name when the disk is full.
        lost: Gets what is missing, before the first file is yielded.

    Raises:
        UnreadableTraceError: A member has an absolute name or one with `..`, or is a
            link or a device: such a file was made to write elsewhere.
    """
    with tarfile.open(plain, "r:") as archive:
        members = _members(archive, plain, lost)
        for member in members:
            _check(member, name)
        # By name, as in a folder: devices are numbered in this order.
        for member in sorted(members, key=lambda member: member.name):
            own = PurePosixPath(member.name).name
            if not member.isfile() or not member.size or _is_hidden(own):
                continue
            source = archive.extractfile(member)
            assert source is not None
            with ExitStack() as open_, output_errors(destination):
                target = _folder(open_, scratch) / own
                with target.open("wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
                yield target


def _members(
    archive: tarfile.TarFile, plain: Path, lost: list[str]
) -> list[tarfile.TarInfo]:
    """Return the members that are whole, and say what is lost."""
    members: list[tarfile.TarInfo] = []
    size = plain.stat().st_size
    with suppress(tarfile.TarError, EOFError):
        while (member := archive.next()) is not None:
            if member.isfile() and member.offset_data + member.size > size:
                lost.append(f"{member.name} is cut off")
                return members
            members.append(member)
    with plain.open("rb") as file:
        file.seek(archive.offset)
        # A block of zeros follows the last member.
        if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            lost.append("its end is missing, and members may be with it")
    return members


def _check(member: tarfile.TarInfo, name: str) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        what = "a name that points out of it"
    elif not (member.isfile() or member.isdir()):
        what = "a link or a device"
    else:
        return
    raise UnreadableTraceError(
        f"{name} holds {what}: {member.name!r}",
        hint="unpack it yourself and give the folder",
    )


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _folder(open_: ExitStack, scratch: Path) -> Path:
    """Make a folder of its own, so that names do not clash."""
    return Path(open_.enter_context(tempfile.TemporaryDirectory(dir=scratch)))
