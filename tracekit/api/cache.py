"""Runs that raw captures were converted to, kept beside them.

A capture is known by the SHA-256 of its content; so that it need not be read each
time, an index keeps that of a file of the same size, time and inode. A cache is
private to its user: one that belongs to another is refused.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

import msgspec

from tracekit._version import __version__
from tracekit.convert import Request, convert
from tracekit.convert.capture import check_exists, files_in, fingerprint
from tracekit.errors import MissingToolError, UnreadableTraceError, UsageError
from tracekit.schema import VERSION
from tracekit.store.run import Run, is_run, open_run

_FOLDER = ".tracekit"
_INDEX = "index.json"
_KEY_CHARACTERS = 32


def open_cached(capture: Path, request: Request | None = None) -> Run:
    """Return the run of a raw capture, converted once.

    Raises:
        UnreadableTraceError: The capture is damaged or of no known format.
        MissingToolError: The cache belongs to another user.
        OutputError: There is no room for the run.
    """
    check_exists(capture)
    folder = _cache_for(capture)
    run = (
        folder / f"{_sha256(capture, folder)[:_KEY_CHARACTERS]}-{VERSION}-{__version__}"
    )
    if is_run(run):
        try:
            return open_run(run)
        except UnreadableTraceError:
            shutil.rmtree(run, ignore_errors=True)
    try:
        return convert([capture], run, request)
    except UsageError:
        # Another process made the same run in the meantime.
        if is_run(run):
            return open_run(run)
        raise


def cache_folders(place: Path) -> list[Path]:
    """Return the caches beside the captures below `place`, and the user's own."""
    found = [path for path in [*place.rglob(_FOLDER)] if _is_cache(path)]
    own = _user_folder()
    if _is_cache(own):
        found.append(own)
    return found


def _is_cache(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and (path / _INDEX).is_file()


def _cache_for(capture: Path) -> Path:
    beside = capture.absolute().parent / _FOLDER
    try:
        return _private(beside)
    except OSError:
        folder = _user_folder()
        try:
            return _private(folder)
        except OSError as error:
            raise MissingToolError(
                f"no cache can be made: {beside} and {folder} cannot be written",
                hint="set XDG_CACHE_HOME, or tracekit convert CAPTURE -o RUN",
            ) from error


def _private(folder: Path) -> Path:
    """Return the folder, made for this user alone.

    Raises:
        OSError: It cannot be made or written.
        MissingToolError: It is another user's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        raise MissingToolError(f"{folder} is no folder")
    if facts.st_uid != os.geteuid():
        raise MissingToolError(
            f"{folder} belongs to another user, so its content is not trusted",
            hint="tracekit convert CAPTURE -o RUN, and ask the run",
        )
    if stat.S_IMODE(facts.st_mode) != 0o700:
        folder.chmod(0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(folder)
    index = folder / _INDEX
    if not index.exists():
        index.write_text("{}\n")
    return folder


def _user_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tracekit"


def _sha256(capture: Path, folder: Path) -> str:
    """Return the SHA-256 of a capture, read only if its files have changed."""
    state = _state(capture)
    index = _read_index(folder)
    if state in index:
        return index[state]
    index[state] = fingerprint([capture]).sha256
    with (
        contextlib.suppress(OSError),
        tempfile.NamedTemporaryFile(dir=folder, delete=False) as file,
    ):
        file.write(msgspec.json.encode(index))
        Path(file.name).replace(folder / _INDEX)
    return index[state]


def _state(capture: Path) -> str:
    files = files_in(capture) if capture.is_dir() else [capture]
    lines = []
    for file in files:
        facts = file.stat()
        name = file.relative_to(capture.parent).as_posix()
        lines.append(
            f"{name}\0{facts.st_dev} {facts.st_ino} {facts.st_size} {facts.st_mtime_ns}"
        )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _read_index(folder: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode((folder / _INDEX).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}
