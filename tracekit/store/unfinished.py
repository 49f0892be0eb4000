"""Folders in which something is made beside the place where it will be.

What is made there is renamed into place at the end, so that nothing half made is ever
under the name that was asked for. A process that dies leaves its folder; the next one
that makes something in the same place removes it.
"""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tracekit.errors import OutputError, UsageError

_PREFIX = ".tracekit-unfinished-"
_LOCK = "lock"
_OLD = "replaced"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Unfinished:
    """A private folder in `parent`; a context manager that removes it.

    Args:
        parent: The folder that what is made will be in; made if it is not there.
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent.absolute()
        self._folder: Path | None = None
        self._lock: int | None = None

    def __enter__(self) -> Self:
        with output_errors(self._parent):
            self._parent.mkdir(parents=True, exist_ok=True)
            remove_unfinished(self._parent)
            self._folder, self._lock = _new_folder(self._parent)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _remove(self.folder)
        if self._lock is not None:
            os.close(self._lock)
        self._folder = self._lock = None

    @property
    def folder(self) -> Path:
        """The folder, to make things in."""
        assert self._folder is not None, "used outside of its with block"
        return self._folder

    def publish(self, made: Path, destination: Path, *, replace: bool) -> None:
        """Rename what was made in the folder to its destination.

        Raises:
            UsageError: Something is there already, and may not be replaced.
            OutputError: It cannot be renamed.
        """
        with output_errors(destination):
            if not replace:
                _rename_new(made, destination)
                return
            old = self.folder / _OLD
            with suppress(FileNotFoundError):
                destination.rename(old)
            try:
                made.rename(destination)
            except OSError:
                with suppress(OSError):
                    old.rename(destination)
                raise


def _rename_new(made: Path, destination: Path) -> None:
    """Rename without taking the place of anything."""
    try:
        if made.is_dir():
            # Refused by the system if a folder with content is there.
            made.rename(destination)
            return
        try:
            os.link(made, destination)
        except FileExistsError:
            raise
        except OSError:
            # Some file systems know no links.
            if os.path.lexists(destination):
                raise already_there(destination) from None
            made.rename(destination)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise already_there(destination) from error
        raise


def already_there(destination: Path) -> UsageError:
    """Return the error for a destination that is taken."""
    return UsageError(
        f"{destination} exists already", hint="give another -o, or add --force"
    )


@contextmanager
def output_errors(place: Path) -> Iterator[None]:
    """Turn a failure to write into one line that names the place."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        if error.errno in _FULL or "No space left" in str(error):
            raise OutputError(
                f"{place}: the disk is full or a limit is reached ({reason}); "
                "nothing was left behind"
            ) from error
        raise OutputError(f"{place}: cannot write: {reason}") from error


def remove_unfinished(parent: Path) -> int:
    """Remove what dead processes left in `parent`; return how many that was."""
    removed = 0
    for folder in parent.glob(f"{_PREFIX}*"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except FileNotFoundError:
            # Its process died before it had the lock, or is about to take it: then
            # it finds the folder gone and makes another.
            with suppress(OSError):
                folder.rmdir()
                removed += 1
            continue
        except OSError:
            continue  # another user's
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its process lives
        else:
            _remove(folder)
            removed += 1
        finally:
            os.close(lock)
    return removed


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: without one it would stay for ever."""
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if path.name == _LOCK:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _new_folder(parent: Path) -> tuple[Path, int]:
    """Make a folder and hold a lock in it for as long as this process lives."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        with suppress(FileNotFoundError):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            return folder, lock
