"""Writes the rows of one table and rank as one sorted Parquet file.

Rows come in roughly sorted order: most profilers write a table sorted, or as a few
sorted stretches, one per process. So each chunk is sorted in memory and appended to
a sorted run; a chunk that begins before the end of the last one starts a new run.
One run is the result as it stands; several are merged range by range, so that memory
stays bounded at any size.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tracekit.schema import Table, Type

CHUNK_ROWS = 131_072
ROW_GROUP_ROWS = 131_072

# A share of an unsorted chunk, held back for the next one.
_HELD_BACK = 8

# Level 1 costs a third less time than 3 and the files grow by a tenth.
_ZSTD_LEVEL = 1

# Columns that count up: the differences of neighbors fit few bits.
_RISING = ("correlation_id",)


class TableWriter:
    """Takes batches in any order and leaves one file sorted by the table's time.

    Rows of equal time keep the order in which they came.

    Args:
        table: The table, whose schema the batches have; a VARCHAR column may come
            dictionary-encoded.
        target: The file to write.
        scratch: A folder for unmerged runs.
    """

    def __init__(self, table: Table, target: Path, scratch: Path) -> None:
        self.rows = 0
        self._table = table
        self._target = target
        self._scratch = scratch
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._schema: pa.Schema | None = None
        self._runs: list[Path] = []
        self._last: int | None = None
        self._open: pq.ParquetWriter | None = None

    def append(self, rows: pa.RecordBatch) -> None:
        """Add `rows`, which have the columns of the table in its order."""
        self.rows += rows.num_rows
        if self._schema is None:
            self._schema = rows.schema
        self._pending.append(_as(rows, self._schema))
        self._pending_rows += rows.num_rows
        if self._pending_rows >= CHUNK_ROWS:
            self._flush(hold_back=True)

    def close(self) -> None:
        """Write what is pending and leave the sorted file at the target."""
        self._flush()
        self._close_run()
        self._target.parent.mkdir(parents=True, exist_ok=True)
        if len(self._runs) == 1:
            self._runs[0].rename(self._target)
            return
        self._merge()
        for run in self._runs:
            run.unlink()

    def rewrite(self, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> None:
        """Change the rows of the file that `close` left; their order stays."""
        new = self._scratch / f"{self._table.name}-rewritten.parquet"
        with (
            pq.ParquetFile(self._target) as old,
            self._parquet(new, self._table.arrow) as writer,
        ):
            for rows in old.iter_batches(ROW_GROUP_ROWS):
                writer.write_batch(change(rows), ROW_GROUP_ROWS)
        new.replace(self._target)

    def abort(self) -> None:
        """Close the files; what they hold is not wanted any more."""
        # A disk that is full is full at the end of a file too.
        with suppress(OSError, pa.ArrowException):
            self._close_run()

    def _flush(self, *, hold_back: bool = False) -> None:
        """Sort what is pending and append it to the run.

        With `hold_back`, the latest rows of a chunk that was not sorted stay pending:
        those that come next may belong before them, and a run need not end for that.
        """
        if not self._pending_rows:
            return
        chunk = pa.Table.from_batches(self._pending).unify_dictionaries()
        self._pending, self._pending_rows = [], 0
        time = self._table.time
        if time is not None:
            # A column without chunks is what the comparisons and take need.
            times = _single(chunk[time])
            if not _is_sorted(times):
                chunk = _reordered(chunk, pc.sort_indices(times))
                if hold_back:
                    kept = chunk.num_rows // _HELD_BACK
                    self._pending = chunk.slice(chunk.num_rows - kept).to_batches()
                    self._pending_rows = kept
                    chunk = chunk.slice(0, chunk.num_rows - kept)
                times = _single(chunk[time])
            first, last = pc.min_max(times).values()
            if self._last is not None and first.is_valid and first.as_py() < self._last:
                self._close_run()
            if last.is_valid:
                self._last = last.as_py()
        if self._open is None:
            run = self._scratch / f"{self._target.parent.name}-{len(self._runs)}"
            run = run.with_name(f"{self._table.name}-{run.name}.parquet")
            self._runs.append(run)
            self._open = self._parquet(run, chunk.schema)
            self._position = 0
        self._write(self._open, chunk)

    def _write(self, writer: pq.ParquetWriter, chunk: pa.Table) -> None:
        number = self._table.number
        if number is not None:
            numbers = pc.add(_counting(chunk.num_rows), self._position)
            index = chunk.schema.get_field_index(number)
            chunk = chunk.set_column(index, number, numbers)
        self._position += chunk.num_rows
        writer.write_table(chunk, row_group_size=ROW_GROUP_ROWS)

    def _close_run(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = None
        self._last = None

    def _parquet(self, path: Path, schema: pa.Schema) -> pq.ParquetWriter:
        rising = {self._table.time, self._table.number, *_RISING, "end_ns"}
        delta = [
            column.name
            for column in self._table.columns
            if column.name in rising and column.type is Type.BIGINT
        ]
        return pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            compression_level=_ZSTD_LEVEL,
            use_dictionary=[n for n in schema.names if n not in delta],
            column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
            # Without it the file carries Arrow's dictionary type, which other
            # engines read as something else than text.
            store_schema=False,
        )

    def _merge(self) -> None:
        # What is free in Arrow's pool would lie beside what polars takes.
        pa.default_memory_pool().release_unused()
        self._position = 0
        with self._parquet(self._target, self._table.arrow) as writer:
            for chunk in _merged(self._runs, self._table):
                self._write(writer, chunk)


@lru_cache(maxsize=4)
def _counting(count: int) -> pa.Array:
    return pa.array(range(count), pa.int64())


def _reordered(chunk: pa.Table, order: pa.Array) -> pa.Table:
    """Return the rows in another order; columns without a value stay as they are."""
    columns = [
        column if column.null_count == len(column) else column.take(order)
        for column in chunk.columns
    ]
    return pa.Table.from_arrays(columns, schema=chunk.schema)


def _single(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _is_sorted(times: pa.Array) -> bool:
    if len(times) < 2 or times.null_count == len(times):
        return True
    if times.null_count:
        return False
    in_order = pc.all(pc.less_equal(times[:-1], times[1:]))
    return bool(in_order.as_py())


def _merged(runs: list[Path], table: Table) -> Iterator[pa.Table]:
    """Yield the rows of sorted files in order, a range of time after the other."""
    # Imported here: it takes a quarter of a second, and most captures come sorted.
    import polars as pl

    time = table.time
    assert time is not None
    rows = pl.scan_parquet(runs)
    for low, high in _ranges(runs, time):
        wanted = pl.lit(value=True)
        if low is not None:
            wanted &= pl.col(time) >= low
        if high is not None:
            wanted &= pl.col(time) < high
        part = rows.filter(wanted).collect().sort(time, maintain_order=True)
        if part.height:
            yield part.to_arrow().cast(table.arrow)
    rest = rows.filter(pl.col(time).is_null()).collect()
    if rest.height:
        yield rest.to_arrow().cast(table.arrow)


def _ranges(runs: list[Path], time: str) -> Iterator[tuple[int | None, int | None]]:
    """Cut time into ranges of about a chunk of rows, by the row groups' minima."""
    starts: list[tuple[int, int]] = []
    for run in runs:
        metadata = pq.read_metadata(run)
        index = metadata.schema.names.index(time)
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            statistics = row_group.column(index).statistics
            if statistics is not None and statistics.has_min_max:
                starts.append((statistics.min, row_group.num_rows))
    low: int | None = None
    rows = 0
    for start, group_rows in sorted(starts):
        if rows >= CHUNK_ROWS and start != low:
            yield low, start
            low, rows = start, 0
        rows += group_rows
    yield low, None


def _as(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return `rows` with text encoded as in `schema`, that of the first batch."""
    if rows.schema.equals(schema):
        return rows
    columns = []
    for column, field in zip(rows.columns, schema, strict=True):
        if column.type == field.type:
            columns.append(column)
        elif pa.types.is_dictionary(field.type):
            plain = column.cast(field.type.value_type)
            columns.append(plain.dictionary_encode())
        else:
            columns.append(column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, names=schema.names)
