"""A capture on disk: found, decompressed, and identified by its content."""

import hashlib
import stat
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tracekit.convert.compressed import GZIP, ZSTD, decompress
from tracekit.errors import UnreadableTraceError
from tracekit.store.manifest import SourceFile

_COMPRESSED_SUFFIXES = (".gz", ".zst", ".zstd")


@dataclass(frozen=True)
class Fingerprint:
    """The content of one or several captures.

    Attributes:
        files: Name, size and SHA-256 of each file, in the order of the names.
        sha256: That of the one file, or over the lines `name NUL sha256`.
    """

    files: list[SourceFile]
    sha256: str


def check_exists(path: Path) -> None:
    """Refuse what is not there or may not be read.

    Raises:
        UnreadableTraceError: With the reason.
    """
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            next(path.iterdir(), None)
        elif not stat.S_ISREG(kind):
            # Reading one may wait for ever, and a capture is read more than once.
            raise UnreadableTraceError(
                f"{path} is a pipe or a device, no file",
                hint="write the capture to a file first",
            )
        else:
            with path.open("rb") as file:
                if not file.read(1):
                    raise UnreadableTraceError(
                        f"{path} is empty (0 bytes)", hint="copy or export it again"
                    )
    except FileNotFoundError:
        what = "is a link to nothing" if path.is_symlink() else "does not exist"
        raise UnreadableTraceError(f"{path} {what}") from None
    except OSError as error:
        raise UnreadableTraceError(f"{path}: {error.strerror}") from error


def files_in(folder: Path) -> list[Path]:
    """Return the files below a folder; links to nothing are none.

    Raises:
        UnreadableTraceError: The folder cannot be walked, or changes meanwhile.
    """
    try:
        return sorted(file for file in folder.rglob("*") if file.is_file())
    except OSError as error:
        raise UnreadableTraceError(f"{folder}: {error.strerror}") from error


def size_of(file: Path) -> int:
    """Return the size of a file in bytes, 0 where it is gone meanwhile.

    Raises:
        UnreadableTraceError: The system does not tell.
    """
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise UnreadableTraceError(f"{file}: {error.strerror}") from error


def fingerprint(paths: list[Path]) -> Fingerprint:
    """Hash the files of the captures.

    Raises:
        UnreadableTraceError: A file cannot be read.
    """
    found: list[tuple[str, Path]] = []
    for path in paths:
        if path.is_dir():
            found += [
                (file.relative_to(path).as_posix(), file) for file in files_in(path)
            ]
        else:
            found.append((path.name, path))
    files = []
    for name, path in sorted(found):
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
        except OSError as error:
            raise UnreadableTraceError(f"{path}: {error.strerror}") from error
        files.append(SourceFile(name=name, bytes=size, sha256=digest))
    if len(files) == 1 and not paths[0].is_dir():
        return Fingerprint(files, files[0].sha256)
    lines = "".join(f"{file.name}\0{file.sha256}\n" for file in files)
    return Fingerprint(files, hashlib.sha256(lines.encode()).hexdigest())


def stem(path: Path) -> str:
    """Return the name of a capture without its suffix and that of a compression."""
    return Path(_plain_name(path)).stem


def _plain_name(path: Path) -> str:
    name = path.name
    for suffix in _COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


@contextmanager
def decompressed(
    path: Path, scratch: Path, note: Callable[[str], None] | None = None
) -> Iterator[Path]:
    """Yield a file with the content of `path`, decompressed into `scratch` if need be.

    Args:
        path: The file or folder.
        scratch: Where the content is put for a while.
        note: Called with what is wrong with the compressed data where the content is
            text or a tar file all the same, which can be taken up to where it ends.
            Without it, nothing damaged is yielded.

    Raises:
        UnreadableTraceError: The compressed data is damaged or cut short, or grows
            beyond measure.
    """
    if path.is_dir() or not _is_compressed(path):
        yield path
        return
    target = scratch / _plain_name(path)
    try:
        damage = decompress(path, target)
        if damage is not None:
            if note is None or not (_is_text(target) or tarfile.is_tarfile(target)):
                raise _damaged(path, damage)
            note(damage)
        yield target
    finally:
        target.unlink(missing_ok=True)


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith((GZIP, ZSTD))


def _is_text(path: Path) -> bool:
    """Tell whether a file begins like JSON."""
    with path.open("rb") as file:
        return file.read(4096).lstrip()[:1] in (b"{", b"[")


def _damaged(path: Path, damage: str) -> UnreadableTraceError:
    return UnreadableTraceError(
        f"{path.name} is damaged or cut short: {damage}",
        hint="copy it again",
    )
