"""Collects rows that Python made one at a time into batches of the tables."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tracekit.convert.readers.base import Batch, CaptureLog, Reading
from tracekit.schema import TABLES

# A row that waits is a dict of a kilobyte or two.
_ROWS = 16_384
_SIGN = 1 << 63
_UNFIT = (pa.ArrowException, OverflowError, UnicodeError, ValueError, TypeError)


def signed64(value: int) -> int:
    """Return the 64 bits of an unsigned number as the signed one of a BIGINT."""
    return ((value + _SIGN) & ((1 << 64) - 1)) - _SIGN


def fitted(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """Return values as a column; one that it cannot hold is NULL."""
    try:
        return pa.array(values, kind)
    except _UNFIT:
        return pa.array([v if _fits(v, kind) else None for v in values], kind)


def _fits(value: object, kind: pa.DataType) -> bool:
    try:
        pa.scalar(value, kind)
    except _UNFIT:
        return False
    return True


class RowBatches:
    """Rows that wait for their batch.

    A value that its column cannot hold, such as a number beyond 64 bits, becomes NULL
    and is counted as repaired.

    Args:
        reading: What is wanted; rows of other tables are dropped.
    """

    def __init__(self, reading: Reading) -> None:
        self._wanted = reading.tables
        self._log: CaptureLog = reading.log
        self._rows: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
        self._complete: set[tuple[str, int]] = set()
        self._written: set[str] = set()

    @property
    def tables(self) -> frozenset[str]:
        """The tables that got a row."""
        return frozenset(self._written)

    def add(self, table: str, rank: int, row: dict[str, Any]) -> None:
        """Take a row; columns that it lacks are NULL."""
        if table in self._wanted:
            rows = self._rows[table, rank]
            rows.append(row)
            if len(rows) >= _ROWS:
                self._complete.add((table, rank))

    def full(self) -> Iterator[Batch]:
        """Yield the batches that are complete."""
        while self._complete:
            key = self._complete.pop()
            yield self._batch(*key, self._rows.pop(key))

    def rest(self) -> Iterator[Batch]:
        """Yield all rows that are left."""
        for key, rows in self._rows.items():
            if rows:
                yield self._batch(*key, rows)
        self._rows.clear()

    def _batch(self, table: str, rank: int, rows: list[dict[str, Any]]) -> Batch:
        self._written.add(table)
        given = set().union(*rows)
        names, columns = [], []
        for field in TABLES[table].arrow:
            names.append(field.name)
            if field.name in given:
                values = [row.get(field.name) for row in rows]
                column = self._column(table, field, values)
            else:
                column = pa.nulls(len(rows), field.type)
            # Text repeats: its batches take a tenth of the room so.
            is_text = pa.types.is_string(field.type)
            columns.append(column.dictionary_encode() if is_text else column)
        return Batch(table, rank, pa.RecordBatch.from_arrays(columns, names=names))

    def _column(self, table: str, field: pa.Field, values: list[Any]) -> pa.Array:
        try:
            return pa.array(values, field.type)
        except _UNFIT:
            return pa.array(
                [self._fitting(table, field, value) for value in values], field.type
            )

    def _fitting(self, table: str, field: pa.Field, value: object) -> object:
        if not _fits(value, field.type):
            self._log.repair(f"{table}.{field.name}", "a value that it cannot hold")
            return None
        return value
