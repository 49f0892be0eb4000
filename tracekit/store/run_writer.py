"""Writes a run beside its destination and renames it into place."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from tracekit.errors import UsageError
from tracekit.schema import TABLES
from tracekit.store.layout import part_path
from tracekit.store.manifest import MANIFEST, Manifest, Part, write_manifest
from tracekit.store.table_writer import TableWriter
from tracekit.store.unfinished import Unfinished, already_there, output_errors

_RUN = "run"
_SCRATCH = "scratch"


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
        self._complete: set[tuple[str, int]] = set()
        self._unfinished = Unfinished(destination.absolute().parent)

    def __enter__(self) -> Self:
        check_destination(self._destination, replace=self._replace)
        self._unfinished.__enter__()
        try:
            with output_errors(self._destination):
                self._own.mkdir()
                self.scratch.mkdir()
        except BaseException as error:
            self._unfinished.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for writer in self._tables.values():
            writer.abort()
        self._unfinished.__exit__(kind, error, traceback)

    @property
    def scratch(self) -> Path:
        """A folder for temporary files, gone when the run is finished."""
        return self._unfinished.folder / _SCRATCH

    @property
    def _own(self) -> Path:
        return self._unfinished.folder / _RUN

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

    def complete(self, table: str) -> dict[int, Path]:
        """Complete one table, so that it can be read; return its files by rank."""
        keys = sorted(key for key in self._tables if key[0] == table)
        with output_errors(self._destination):
            for key in keys:
                if key not in self._complete:
                    self._tables[key].close()
                    self._complete.add(key)
        return {rank: self._own / part_path(table, rank) for _, rank in keys}

    def rewrite(
        self,
        table: str,
        rank: int,
        change: Callable[[pa.RecordBatch], pa.RecordBatch],
    ) -> None:
        """Complete a table and change the rows that it has under `rank`."""
        self.complete(table)
        with output_errors(self._destination):
            self._tables[table, rank].rewrite(change)

    def close_tables(self) -> dict[str, list[Part]]:
        """Complete the files and return what the manifest says of them."""
        tables: dict[str, list[Part]] = {}
        for table in {name for name, _ in self._tables}:
            self.complete(table)
        with output_errors(self._destination):
            for (table, rank), writer in sorted(self._tables.items()):
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
            write_manifest(manifest, self._own)
        check_destination(self._destination, replace=self._replace)
        self._unfinished.publish(self._own, self._destination, replace=self._replace)


def check_destination(destination: Path, *, replace: bool) -> None:
    """Refuse a destination that holds something.

    Raises:
        UsageError: Something is there, and it is no run or may not be replaced.
    """
    if not os.path.lexists(destination):
        return
    with output_errors(destination):
        is_run = (destination / MANIFEST).is_file()
    if not is_run:
        raise UsageError(f"{destination} exists and is no run")
    if not replace:
        raise already_there(destination)
