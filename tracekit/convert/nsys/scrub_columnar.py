"""Copies what is fit to share of a parquetdir or arrowdir export into a new folder."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from tracekit.convert.nsys.columnar_export import ColumnarExport, complete_export, plain
from tracekit.convert.nsys.environment import read_environment
from tracekit.convert.nsys.share_payload import Payloads
from tracekit.convert.nsys.share_rules import PAIRS, STRINGS, Rows, Rule, Text, rule_for
from tracekit.convert.nsys.share_text import Cleaner
from tracekit.convert.readers.base import CaptureLog

_PID_SHIFT = 24
_STRONGEST_FIRST = (Text.FILE, Text.NAME, Text.WORD)


def scrub_columnar(capture: Path, target: Path) -> Counter[tuple[str, str]]:
    """Write a scrubbed copy of an export to `target`; return what was withheld.

    Raises:
        UnreadableTraceError: A file of the export is incomplete.
        OSError: The copy cannot be written.
    """
    log = CaptureLog()
    export = complete_export(capture, capture.name, log)
    read_environment(export, log)
    cleaner = Cleaner(log.private)
    target.mkdir()
    _Copy(export, target, cleaner, log).run()
    cleaner.close()
    return cleaner.withheld


class _Copy:
    """The new folder, and what its events refer to."""

    def __init__(
        self,
        export: ColumnarExport,
        target: Path,
        cleaner: Cleaner,
        log: CaptureLog,
    ) -> None:
        self._export = export
        self._target = target
        self._cleaner = cleaner
        self._payloads = Payloads(export, log)
        self._processes: set[int | None] = set()
        self._strings: dict[int, Text] = {}

    def run(self) -> None:
        """Copy table by table: events before the processes and strings they name."""
        tables = [(table, rule_for(table)) for table in self._export.tables()]
        later = (Rows.OF_PROCESSES,)
        for table, rule in tables:
            if rule is not None and rule.rows not in later:
                self._copy(table, rule)
            elif rule is None and table != STRINGS:
                self._cleaner.leave_out(table, self._export.count(table))
        for table, rule in tables:
            if rule is not None and rule.rows in later:
                self._copy(table, rule)
        if STRINGS in self._export.tables():
            self._write(STRINGS, self._kept_strings())

    def _copy(self, table: str, rule: Rule) -> None:
        if rule.rows is Rows.NONE:
            self._cleaner.withhold(table, self._export.count(table))
            self._write(table, iter(()))
        elif rule.rows in PAIRS:
            rows = (self._cleaner.pair(rule.rows, r) for r in self._export.rows(table))
            schema = self._export.schema(table)
            kept = [_cells(row, rule, schema) for row in rows if row is not None]
            self._write(table, iter([pa.RecordBatch.from_pylist(kept, schema=schema)]))
        else:
            self._write(table, self._batches(table, rule))

    def _write(self, table: str, batches: Iterator[pa.RecordBatch]) -> None:
        path = self._target / self._export.file_name(table)
        schema = self._export.schema(table)
        if path.suffix == ".parquet":
            with pq.ParquetWriter(path, schema, compression="zstd") as parquet:
                for batch in batches:
                    parquet.write_batch(batch)
        else:
            with pa.OSFile(str(path), "wb") as raw, pa.ipc.new_stream(raw, schema) as s:
                for batch in batches:
                    s.write_batch(batch)

    def _batches(self, table: str, rule: Rule) -> Iterator[pa.RecordBatch]:
        schema = self._export.schema(table)
        if rule.rows is Rows.OF_PROCESSES and rule.owner not in schema.names:
            self._cleaner.ownerless(table, rule.owner, self._export.count(table))
            return
        left = 0
        for raw in self._export.raw_batches(table):
            batch = raw
            if rule.rows is Rows.OF_PROCESSES:
                batch = raw.filter(self._of_processes(raw.column(rule.owner)))
                left += raw.num_rows - batch.num_rows
            columns = [self._column(batch, field, rule) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
            for name in rule.owners:
                if name in schema.names:
                    self._processes.update(_keys(batch.column(name)))
            for name, kind in rule.strings.items():
                if name in schema.names:
                    self._refer(batch.column(name), kind)
        self._cleaner.count(
            f"rows of {table}", "of processes that did nothing in the capture", left
        )

    def _column(self, batch: pa.RecordBatch, field: pa.Field, rule: Rule) -> pa.Array:
        column = batch.column(field.name)
        kind = rule.texts.get(field.name)
        if kind is Text.PAYLOAD:
            return self._numbers_of(column, batch, field)
        if kind is not None:
            return _text(
                [
                    None if cell is None else self._clean(kind, cell)
                    for cell in plain(column).to_pylist()
                ],
                field,
            )
        if field.name in rule.columns and _is_number(field.type):
            return column
        return _empty(len(column), field)

    def _clean(self, kind: Text, cell: Any) -> str:  # noqa: ANN401 - a cell
        text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
        return self._cleaner.text(kind, text)

    def _numbers_of(
        self, column: pa.Array, batch: pa.RecordBatch, field: pa.Field
    ) -> pa.Array:
        domains: list[int | None] = [None] * len(column)
        if "domainId" in batch.schema.names:
            # No schema has the domain -1.
            domains = [
                -1 if cell is not None and not isinstance(cell, int) else cell
                for cell in plain(batch.column("domainId")).to_pylist()
            ]
        cells: list[bytes | None] = []
        for payload, domain in zip(plain(column).to_pylist(), domains, strict=True):
            kept = None
            if isinstance(payload, bytes):
                kept = self._payloads.numbers_of(payload, domain)
                self._cleaner.refuse_payload(kept)
            cells.append(kept)
        # The column is declared as text, and holds any bytes.
        if pa.types.is_string(field.type):
            return pa.array(cells, pa.binary()).view(field.type)
        return pa.array(cells, pa.large_binary()).view(field.type)

    def _of_processes(self, owners: pa.Array) -> pa.Array:
        return pa.array([key in self._processes for key in _keys(owners)], pa.bool_())

    def _refer(self, ids: pa.Array, kind: Text) -> None:
        if not _is_number(ids.type):
            return
        for number in pc.unique(ids).drop_null().to_pylist():
            known = self._strings.get(number, kind)
            self._strings[number] = min(known, kind, key=_STRONGEST_FIRST.index)

    def _kept_strings(self) -> Iterator[pa.RecordBatch]:
        schema = self._export.schema(STRINGS)
        unused = 0
        if not {"id", "value"} <= set(schema.names):
            self._cleaner.unused_strings(self._export.count(STRINGS))
            return
        for batch in self._export.raw_batches(STRINGS):
            kinds = [self._strings.get(n) for n in batch.column("id").to_pylist()]
            kept = batch.filter(pa.array([kind is not None for kind in kinds]))
            unused += batch.num_rows - kept.num_rows
            texts: list[str | None] = [
                None if cell is None else self._clean(kind, cell)
                for kind, cell in zip(
                    [kind for kind in kinds if kind is not None],
                    plain(kept.column("value")).to_pylist(),
                    strict=True,
                )
            ]
            filled = {
                "id": kept.column("id"),
                "value": _text(texts, schema.field("value")),
            }
            yield pa.RecordBatch.from_arrays(
                [filled.get(f.name, _empty(kept.num_rows, f)) for f in schema],
                schema=schema,
            )
        self._cleaner.unused_strings(unused)


def _keys(owners: pa.Array) -> list[int | None]:
    return [
        number >> _PID_SHIFT if isinstance(number, int) else None
        for number in plain(owners).to_pylist()
    ]


def _cells(row: dict[str, Any], rule: Rule, schema: pa.Schema) -> dict[str, Any]:
    """Return a row of names and values with what is not listed emptied."""
    return {
        field.name: row[field.name]
        if field.name in rule.columns
        else _empty(1, field)[0].as_py()
        for field in schema
    }


def _text(cells: list[str | None], field: pa.Field) -> pa.Array:
    if not _is_text(field.type):
        return _empty(len(cells), field)
    return pa.array(cells, field.type)


def _empty(count: int, field: pa.Field) -> pa.Array:
    """Return cells that say nothing: NULL, or what stands for it where none may be."""
    if field.nullable:
        return pa.nulls(count, field.type)
    return pa.repeat(pa.scalar("" if _is_text(field.type) else 0, field.type), count)


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
