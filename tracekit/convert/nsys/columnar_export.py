"""An export as a folder of Parquet or Arrow files, one a table.

`nsys export -t parquetdir` and `-t arrowdir` write `<TABLE>.parquet` and
`<TABLE>.arrow` (an IPC stream). The columns are those of the SQLite export with
unsigned types; `NVTX_EVENTS.binaryData` is declared text and holds any bytes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from tracekit.convert.nsys.export import NO_VALUES, Row
from tracekit.convert.readers.base import CaptureLog
from tracekit.errors import UnreadableTraceError

_SUFFIXES = (".parquet", ".arrow", ".arrows")
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_CHUNK_ROWS = 131_072


def table_files(folder: Path) -> dict[str, Path]:
    """Return the table files of `folder`, by table."""
    return {
        path.stem: path for path in sorted(folder.iterdir()) if path.suffix in _SUFFIXES
    }


class ColumnarExport:
    """The tables of a parquetdir or arrowdir export.

    Args:
        folder: The folder.
        log: Counts the cells that were mended.

    Raises:
        UnreadableTraceError: A file is incomplete: the export did not end.
    """

    def __init__(self, folder: Path, log: CaptureLog) -> None:
        self._log = log
        self._files = table_files(folder)
        self._schemas: dict[str, pa.Schema] = {}
        for table, path in self._files.items():
            if not path.is_file():
                # A link to nothing, a folder, or a pipe, which may block.
                raise _incomplete(path, "it is no file")
            try:
                self._schemas[table] = _schema(path)
            except (pa.ArrowException, OSError) as error:
                raise _incomplete(path, error) from error

    def tables(self) -> list[str]:
        """Return the names of the tables that exist."""
        return list(self._files)

    def columns(self, table: str) -> frozenset[str]:
        """Return the columns of `table`; none if it does not exist."""
        schema = self._schemas.get(table)
        return frozenset() if schema is None else frozenset(schema.names)

    def count(self, table: str) -> int:
        """Return the number of rows of `table`."""
        path = self._files.get(table)
        if path is None:
            return 0
        if path.suffix == ".parquet":
            return int(pq.read_metadata(path).num_rows)
        return sum(batch.num_rows for batch in self._read(path, []))

    def rows(
        self, table: str, column: str | None = None, values: frozenset[int] = NO_VALUES
    ) -> Iterator[Row]:
        """Yield rows one by one, text made valid, NULL as None."""
        path = self._files.get(table)
        if path is None or (column is not None and column not in self.columns(table)):
            return
        for batch in self._read(path, self._schemas[table].names):
            chosen = batch
            if column is not None:
                numbers = plain(batch.column(column))
                kind = numbers.type
                if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                    continue
                chosen = batch.filter(pc.is_in(numbers, pa.array(sorted(values), kind)))
            columns = [_cells(plain(cells)) for cells in chosen.columns]
            for row in zip(*columns, strict=True):
                yield Row(chosen.schema.names, row)

    def batches(self, table: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted` of `table` in the order of the file."""
        for batch in self._read(self._files[table], wanted.names):
            columns = [
                self._as(batch.column(field.name), field, table) for field in wanted
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=wanted)

    def schema(self, table: str) -> pa.Schema:
        """Return the columns of `table` as the file declares them."""
        return self._schemas[table].remove_metadata()

    def file_name(self, table: str) -> str:
        """Return the name of the file of `table`."""
        return self._files[table].name

    def raw_batches(self, table: str) -> Iterator[pa.RecordBatch]:
        """Yield all columns of `table` as they are."""
        yield from self._read(self._files[table], self._schemas[table].names)

    def _read(self, path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            if path.suffix == ".parquet":
                with pq.ParquetFile(path) as file:
                    yield from file.iter_batches(_CHUNK_ROWS, columns=columns)
            else:
                with pa.memory_map(str(path)) as file, _stream(file) as stream:
                    for batch in stream:
                        yield batch.select(columns)
        except (pa.ArrowException, OSError) as error:
            raise _incomplete(path, error) from error

    def _as(self, column: pa.Array, field: pa.Field, table: str) -> pa.Array:
        column = plain(column)
        if column.type == field.type:
            return column
        if pa.types.is_string(field.type) and pa.types.is_binary(column.type):
            return self._text(column, f"{table}.{field.name}")
        try:
            return column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        mended = pa.array([_number(cell, field.type) for cell in column], field.type)
        self._log.repair(
            f"{table}.{field.name}",
            "no number",
            mended.null_count - column.null_count,
        )
        return mended

    def _text(self, column: pa.Array, name: str) -> pa.Array:
        text = column.cast(pa.string(), safe=False)
        try:
            text.validate(full=True)
        except pa.ArrowInvalid:
            bad = 0
            cells: list[str | None] = []
            for cell in column.to_pylist():
                decoded = None if cell is None else cell.decode("utf-8", "replace")
                bad += decoded is not None and decoded.encode() != cell
                cells.append(decoded)
            self._log.repair(name, "text that is not UTF-8", bad)
            return pa.array(cells, pa.string())
        return text


def complete_export(folder: Path, name: str, log: CaptureLog) -> ColumnarExport:
    """Open an export that holds the table that all others refer to.

    Raises:
        UnreadableTraceError: It does not, or a file of it is incomplete.
    """
    export = ColumnarExport(folder, log)
    if "StringIds" not in export.tables():
        raise UnreadableTraceError(
            f"{name} is incomplete: it holds no StringIds, so its export did not end",
            hint="export it again: nsys export -t parquetdir --include-blobs=true "
            "--include-json=true",
        )
    return export


def _schema(path: Path) -> pa.Schema:
    if path.suffix == ".parquet":
        return pq.read_schema(path)
    with path.open("rb") as file:
        file.seek(0, 2)
        if file.tell() >= len(_END_OF_STREAM):
            file.seek(-len(_END_OF_STREAM), 2)
        if file.read() != _END_OF_STREAM:
            raise pa.ArrowInvalid("the stream has no end")
    with pa.memory_map(str(path)) as mapped, _stream(mapped) as stream:
        return stream.schema


def _stream(file: pa.NativeFile) -> pa.ipc.RecordBatchStreamReader:
    return pa.ipc.open_stream(file)


def _incomplete(path: Path, error: Exception | str) -> UnreadableTraceError:
    reason = str(error).splitlines()[0]
    return UnreadableTraceError(
        f"{path.parent.name}/{path.name} is incomplete, so its export did not end: "
        f"{reason}",
        hint="export it again",
    )


def _cells(column: pa.Array) -> list[Any]:
    if pa.types.is_temporal(column.type):
        # No column of an export is one; Python cannot hold nanoseconds.
        return [None] * len(column)
    cells: list[Any] = column.to_pylist()
    return cells


def plain(column: pa.Array) -> pa.Array:
    """Return text as bytes and unsigned integers as signed ones of the same bits."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # Text is not known to be UTF-8 before it was looked at.
        wide = column.cast(pa.large_binary())
        return wide.cast(pa.binary())
    if pa.types.is_large_binary(kind):
        return column.cast(pa.binary())
    if pa.types.is_uint64(kind):
        return column.view(pa.int64())
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    return column


def _number(cell: pa.Scalar, kind: pa.DataType) -> int | float | None:
    try:
        return pc.cast(cell, kind).as_py()  # type: ignore[no-any-return]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
