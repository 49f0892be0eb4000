"""An export in SQLite.

Tables come in chunks of rows through connectorx, two at a time: it reads into Arrow
at a quarter of the cost of a cursor. It fails on text that is not UTF-8 and on text
in a number column; such a chunk is read again cell by cell, and mended.
"""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from tracekit.convert.nsys.export import NO_VALUES, Row
from tracekit.convert.nsys.stretches import RowRange, slices
from tracekit.convert.readers.base import CaptureLog
from tracekit.errors import UnreadableTraceError

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_CHUNK_ROWS = 131_072
_READERS = 2
_PROBES = 64
_TIMES = ("start", "timestamp")
_INT64_LIMIT = 2**63


def is_sqlite(path: Path) -> bool:
    """Tell whether the file begins as a SQLite database does."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def table_names(path: Path) -> frozenset[str]:
    """Return the tables of a SQLite database; none if it is damaged."""
    with suppress(sqlite3.Error), closing(_connect(path)) as connection:
        return frozenset(_tables(connection))
    return frozenset()


def damage(path: Path) -> str | None:
    """Return what is wrong with a SQLite file, or None if it can be opened."""
    cut = _cut(path)
    if cut is not None:
        return cut
    try:
        with closing(_connect(path)) as connection:
            _tables(connection)
    except sqlite3.Error as error:
        return str(error)
    return None


def _cut(path: Path) -> str | None:
    """Tell whether a file is shorter than its header says."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    there = path.stat().st_size
    if len(header) < _HEADER_BYTES:
        return f"it ends after {there} bytes"
    page_bytes = int.from_bytes(header[16:18], "big")
    page_bytes = 65_536 if page_bytes == 1 else page_bytes
    pages = int.from_bytes(header[28:32], "big")
    # The count is only valid if the last change was made by a SQLite that keeps it.
    if header[24:28] != header[92:96] or there >= pages * page_bytes:
        return None
    return f"it has {there:,} of {pages * page_bytes:,} bytes"


def readonly_uri(path: Path) -> str:
    """Return the URI under which SQLite reads a database and changes nothing."""
    # Immutable: no lock, no journal, works on a read-only disk.
    return f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"


def _connect(path: Path) -> sqlite3.Connection:
    uri = readonly_uri(path)
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    connection.text_factory = bytes
    return connection


def _tables(connection: sqlite3.Connection) -> list[str]:
    # A view or a virtual table would run code that the file brings along.
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        " AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return [name.decode("utf-8", "replace") for (name,) in found]


def quoted(name: str) -> str:
    """Return a name as SQL takes any name."""
    return '"' + name.replace('"', '""') + '"'


class SqliteExport:
    """The tables of a SQLite export.

    Args:
        path: The database.
        log: Counts the cells that were mended.

    Raises:
        UnreadableTraceError: The file is damaged, or was not written to its end.
    """

    def __init__(self, path: Path, log: CaptureLog) -> None:
        self._path = path
        self._log = log
        for suffix in ("-journal", "-wal"):
            beside = path.with_name(path.name + suffix)
            if beside.is_file() and beside.stat().st_size:
                raise UnreadableTraceError(
                    f"{path.name} is still being written, or its export was cut "
                    f"short: {beside.name} lies beside it",
                    hint="wait for the export to end, or export it again",
                )
        cut = _cut(path)
        if cut is not None:
            raise self._damaged(cut)
        try:
            self._connection = _connect(path)
            self._columns = {
                name: frozenset(
                    column.decode("utf-8", "replace")
                    for _, column, *_ in self._connection.execute(
                        f"PRAGMA table_info({quoted(name)})"
                    )
                )
                for name in _tables(self._connection)
            }
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def tables(self) -> list[str]:
        """Return the names of the tables that exist."""
        return list(self._columns)

    def columns(self, table: str) -> frozenset[str]:
        """Return the columns of `table`; none if it does not exist."""
        return self._columns.get(table, frozenset())

    def count(self, table: str) -> int:
        """Return the number of rows of `table`."""
        if table not in self._columns:
            return 0
        try:
            row = self._connection.execute(f"SELECT count(*) FROM {quoted(table)}")
            return int(row.fetchone()[0])
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def rows(
        self, table: str, column: str | None = None, values: frozenset[int] = NO_VALUES
    ) -> Iterator[Row]:
        """Yield rows one by one, text made valid, NULL as None."""
        if table not in self._columns:
            return
        query = f"SELECT * FROM {quoted(table)}"
        if column is not None:
            if column not in self._columns[table]:
                return
            wanted = ", ".join(str(value) for value in sorted(values))
            query += f" WHERE {quoted(column)} IN ({wanted})"
        try:
            cursor = self._connection.execute(query)
            names = [described[0] for described in cursor.description]
            for row in cursor:
                yield Row(names, row)
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def batches(self, table: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted` of `table`, in the order of its times if it can.

        See `tracekit.convert.nsys.stretches`.
        """
        chunks = self._chunks(table)
        pending: deque[list[Future[pa.Table]]] = deque()
        with ThreadPoolExecutor(_READERS) as readers:

            def submit() -> None:
                for ranges in chunks:
                    pending.append(
                        [
                            readers.submit(self._chunk, table, wanted, rows)
                            for rows in ranges
                        ]
                    )
                    return

            for _ in range(_READERS):
                submit()
            while pending:
                parts = [part.result() for part in pending.popleft()]
                submit()
                # One batch, so that its rows are sorted together.
                yield from pa.concat_tables(parts).combine_chunks().to_batches()

    def _chunks(self, table: str) -> Iterator[list[RowRange]]:
        """Yield ranges of row ids, together of about `_CHUNK_ROWS` rows."""
        name = quoted(table)
        try:
            # Each alone is one step down the tree; asked together they are a scan.
            low, high = (
                self._connection.execute(f"SELECT {end}(rowid) FROM {name}").fetchone()[
                    0
                ]
                for end in ("min", "max")
            )
            if low is None:
                return
            # Deleted rows leave holes; a table that is mostly holes is walked.
            if high - low > 4 * _CHUNK_ROWS and self._is_sparse(name, low, high):
                yield from self._walk(name, low, high)
            else:
                yield from slices(low, high, _CHUNK_ROWS, self._time_of(table))
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def _walk(self, name: str, low: int, high: int) -> Iterator[list[RowRange]]:
        while low <= high:
            found = self._connection.execute(
                f"SELECT rowid FROM {name} WHERE rowid >= ? ORDER BY rowid"
                f" LIMIT 1 OFFSET {_CHUNK_ROWS}",
                (low,),
            ).fetchone()
            end = high if found is None else found[0] - 1
            yield [RowRange(low, end)]
            low = end + 1

    def _time_of(self, table: str) -> Callable[[int], int | None]:
        """Return a function that looks up the time of a row."""
        times = [name for name in _TIMES if name in self._columns[table]]
        if not times:
            return lambda _: None
        query = (
            f"SELECT {quoted(times[0])} FROM {quoted(table)}"
            " WHERE rowid >= ? ORDER BY rowid LIMIT 1"
        )

        def time_of(row: int) -> int | None:
            found = self._connection.execute(query, (row,)).fetchone()
            return found[0] if found and isinstance(found[0], int) else None

        return time_of

    def _is_sparse(self, name: str, low: int, high: int) -> bool:
        """Tell whether most row ids are unused, from a few of them."""
        step = (high - low) // _PROBES
        probes = ", ".join(str(low + step * place) for place in range(_PROBES))
        found = self._connection.execute(
            f"SELECT count(*) FROM {name} WHERE rowid IN ({probes})"
        )
        return int(found.fetchone()[0]) < _PROBES // 4

    def _chunk(self, table: str, wanted: pa.Schema, rows: RowRange) -> pa.Table:
        # Imported here: it takes 0.1 s, which a run that is converted need not pay.
        import connectorx

        names = ", ".join(quoted(column) for column in wanted.names)
        query = (
            f"SELECT {names} FROM {quoted(table)}"
            f" WHERE rowid BETWEEN {rows.low} AND {rows.high}"
        )
        url = f"sqlite://{quote(str(self._path.absolute()))}"
        try:
            chunk = connectorx.read_sql(url, query, return_type="arrow")
            return chunk.cast(wanted) if chunk.num_rows else wanted.empty_table()
        except (RuntimeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return self._mended(table, query, wanted)

    def _mended(self, table: str, query: str, wanted: pa.Schema) -> pa.Table:
        """Read a chunk cell by cell; a cell that does not fit becomes NULL."""
        connection = _connect(self._path)
        try:
            rows = connection.execute(query).fetchall()
        except sqlite3.Error as error:
            raise self._damaged(error) from error
        finally:
            connection.close()
        columns = []
        for index, column in enumerate(wanted):
            cells: list[Any] = []
            bad = 0
            for row in rows:
                cell, fits = _fit(row[index], column.type)
                cells.append(cell)
                bad += not fits
            if bad:
                kind = (
                    "text that is not UTF-8" if _is_text(column.type) else "no number"
                )
                self._log.repair(f"{table}.{column.name}", kind, bad)
            columns.append(pa.array(cells, column.type))
        return pa.Table.from_arrays(columns, schema=wanted)

    def _damaged(self, error: sqlite3.Error | str) -> UnreadableTraceError:
        return UnreadableTraceError(
            f"{self._path.name} is not a complete SQLite file: {error}",
            hint="copy or export it again",
        )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind))


def _fit(cell: Any, kind: pa.DataType) -> tuple[Any, bool]:  # noqa: ANN401 - a cell
    """Return the cell as a value of `kind`, and whether it was one."""
    if cell is None:
        return None, True
    if _is_text(kind):
        if not isinstance(cell, bytes):
            return str(cell), True
        try:
            return cell.decode(), True
        except UnicodeDecodeError:
            return cell.decode("utf-8", "replace"), False
    if pa.types.is_float64(kind):
        return (float(cell), True) if isinstance(cell, int | float) else (None, False)
    if pa.types.is_binary(kind):
        return (cell, True) if isinstance(cell, bytes) else (None, False)
    if isinstance(cell, int):
        return cell, True
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _INT64_LIMIT:
        return int(cell), True
    return None, False
