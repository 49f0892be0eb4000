"""Writes a run beside its destination and renames it into place.

Until the rename the folder has a name that nothing takes for a run, and no manifest.
A process that dies leaves such a folder; the next writer in the same place removes it.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from tracekit.errors import OutputError, UsageError
from tracekit.schema import TABLES
from tracekit.store.layout import part_path
from tracekit.store.manifest import MANIFEST, Manifest, Part, write_manifest
from tracekit.store.table_writer import TableWriter

_PREFIX = ".tracekit-unfinished-"
_LOCK = "lock"
_SCRATCH = "scratch"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class RunWriter:
    """A run being written; a context manager that leaves a run or nothing.

    Args:
        destination: The folder that the run will be.
        replace: Whether a run that is there already may be replaced.
    """

    def __init__(self, destination: Path, *, replace: bool = False) -> None:
        self._destination = destination
        self._replace = replace
        self._tables: dict[tuple[str, int], TableWriter] = {}
        self._folder: Path | None = None
        self._lock: int | None = None

    def __enter__(self) -> Self:
        check_destination(self._destination, replace=self._replace)
        parent = self._destination.absolute().parent
        with output_errors(parent):
            parent.mkdir(parents=True, exist_ok=True)
            remove_unfinished(parent)
            self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            self._lock = _locked(self._folder)
            (self._folder / _SCRATCH).mkdir()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
        self._folder = self._lock = None

    @property
    def scratch(self) -> Path:
        """A folder for temporary files, gone when the run is finished."""
        return self._own / _SCRATCH

    @property
    def _own(self) -> Path:
        assert self._folder is not None, "used outside of its with block"
        return self._folder

    def append(self, table: str, rank: int, rows: pa.RecordBatch) -> None:
        """Add rows to `table` under `rank`."""
        if not rows.num_rows:
            return
        writer = self._tables.get((table, rank))
        if writer is None:
            target = self._own / part_path(table, rank)
            writer = TableWriter(TABLES[table], target, self.scratch)
            self._tables[table, rank] = writer
        with output_errors(self._destination):
            writer.append(rows)

    def close_tables(self) -> dict[str, list[Part]]:
        """Complete the files and return what the manifest says of them."""
        tables: dict[str, list[Part]] = {}
        with output_errors(self._destination):
            for (table, rank), writer in sorted(self._tables.items()):
                writer.close()
                path = self._own / part_path(table, rank)
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                part = Part(
                    rank=rank,
                    rows=writer.rows,
                    bytes=path.stat().st_size,
                    sha256=digest,
                )
                tables.setdefault(table, []).append(part)
        return tables

    def publish(self, manifest: Manifest) -> None:
        """Write the manifest and rename the folder to the destination."""
        with output_errors(self._destination):
            shutil.rmtree(self.scratch)
            write_manifest(manifest, self._own)
            # mkdtemp makes a private folder; a run is as public as its parent says.
            mask = os.umask(0)
            os.umask(mask)
            self._own.chmod(0o777 & ~mask)
            (self._own / _LOCK).unlink()
            check_destination(self._destination, replace=self._replace)
            if self._destination.exists():
                shutil.rmtree(self._destination)
            try:
                self._own.rename(self._destination)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    raise _exists(self._destination) from error
                raise
        self._folder = None


def check_destination(destination: Path, *, replace: bool) -> None:
    """Refuse a destination that holds something.

    Raises:
        UsageError: Something is there, and it is no run or may not be replaced.
    """
    if not os.path.lexists(destination):
        return
    if not (destination / MANIFEST).is_file():
        raise UsageError(f"{destination} exists and is no run")
    if not replace:
        raise _exists(destination)


def _exists(destination: Path) -> UsageError:
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
    """Remove what dead writers left in `parent`; return how many that was."""
    removed = 0
    for folder in parent.glob(f"{_PREFIX}*"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its writer lives
        else:
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
        finally:
            os.close(lock)
    return removed


def _locked(folder: Path) -> int:
    """Hold a lock in `folder` for as long as this process lives."""
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock
