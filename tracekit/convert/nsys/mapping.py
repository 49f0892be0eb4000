"""Maps the rows of export tables to rows of normalized tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.narrowing import narrow, within
from tracekit.convert.nsys.export import Export, resolve
from tracekit.convert.nsys.fields import EventTable, Field, Lookups
from tracekit.convert.readers.base import Batch, CaptureLog
from tracekit.schema import HOST_RANK, TABLES, Scope, Table

_GPU_WORK = frozenset({"kernel", "memcpy", "memset", "graph_launch"})


def map_table(
    event_table: EventTable, export: Export, lookups: Lookups, log: CaptureLog
) -> Iterator[Batch]:
    """Yield the rows that one export table gives."""
    source = resolve(export, event_table.source)
    present = export.columns(source)
    if not present:
        return
    missing = sorted(event_table.required - present)
    if missing:
        rows = export.count(source)
        if rows:
            named = ", ".join(f"`{name}`" for name in missing)
            log.skip(source, f"without the column {named} it cannot be read", rows)
            log.diagnose(
                "error", f"{source} has no column {named}: its {rows} rows are not read"
            )
            log.absent[event_table.target] = f"{source} has no column {named}"
        return
    owner = event_table.owner
    supplied = frozenset({owner} if owner else ()) - present
    fields = {
        name: field
        for name, field in event_table.fields.items()
        if field.needs.keys() <= present | supplied
    }
    _note_missing(event_table, source, fields, present, log)
    wanted = _wanted(event_table, fields, present)
    target = TABLES[event_table.target]
    for exported in export.batches(source, wanted):
        raw = exported
        for name in supplied:
            only = lookups.identity.only_process()
            column = pa.repeat(pa.scalar(only, pa.int64()), raw.num_rows)
            raw = raw.append_column(name, column)
        kept = _keep(event_table, raw, source, log)
        if not kept.num_rows:
            continue
        rows = table_rows(
            target,
            kept.num_rows,
            {name: field.fill(kept, lookups) for name, field in fields.items()},
        )
        if target.name in _GPU_WORK:
            lookups.devices.learn_contexts(rows)
        yield from by_rank(rows, target, kept, owner, lookups)


def table_rows(
    table: Table, count: int, columns: Mapping[str, pa.Array]
) -> pa.RecordBatch:
    """Return `count` rows of `table`; columns that are not given are NULL."""
    arrays = []
    for field in table.arrow:
        column = columns.get(field.name)
        if column is None:
            column = pa.nulls(count, field.type)
        elif column.type != field.type and not pa.types.is_dictionary(column.type):
            column = narrow(column, field.type)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, table.arrow.names)


def rows_of(table: Table, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows given one by one as a batch of `table`."""
    return pa.RecordBatch.from_pylist(
        [
            {
                field.name: within(row.get(field.name), field.type)
                for field in table.arrow
            }
            for row in rows
        ],
        schema=table.arrow,
    )


def by_rank(
    rows: pa.RecordBatch,
    table: Table,
    raw: pa.RecordBatch,
    owner: str | None,
    lookups: Lookups,
) -> Iterator[Batch]:
    """Yield `rows` under the ranks of their processes, told by a column of `raw`."""
    identity = lookups.identity
    if table.scope is Scope.HOST:
        yield Batch(table.name, HOST_RANK, rows)
    elif owner is None or not identity.several_ranks():
        yield Batch(table.name, identity.default_rank(), rows)
    else:
        ranks = identity.ranks(raw.column(owner))
        for rank in sorted(ranks.unique().to_pylist()):
            yield Batch(table.name, rank, rows.filter(pc.equal(ranks, rank)))


def _wanted(
    event_table: EventTable, fields: Mapping[str, Field], present: frozenset[str]
) -> pa.Schema:
    needs: dict[str, pa.DataType] = {}
    for field in fields.values():
        needs.update(field.needs)
        needs.update(field.uses)
    if event_table.owner is not None:
        needs.setdefault(event_table.owner, pa.int64())
    if event_table.keep is not None:
        needs.setdefault(event_table.keep.source, pa.int64())
    return pa.schema([item for item in needs.items() if item[0] in present])


def _note_missing(
    event_table: EventTable,
    source: str,
    fields: Mapping[str, Field],
    present: frozenset[str],
    log: CaptureLog,
) -> None:
    """Say which columns are NULL because the export has nothing to fill them."""
    empty = sorted(event_table.fields.keys() - fields.keys())
    if empty:
        missing = sorted(
            {
                name
                for column in empty
                for name in event_table.fields[column].needs.keys() - present
            }
        )
        log.diagnose(
            "info",
            f"{source} of this export has no {', '.join(missing)}; NULL in "
            f"{event_table.target}: {', '.join(empty)}",
        )


def _keep(
    event_table: EventTable, raw: pa.RecordBatch, source: str, log: CaptureLog
) -> pa.RecordBatch:
    keep = event_table.keep
    if keep is None or keep.source not in raw.schema.names:
        return raw
    mask = keep.mask(raw.column(keep.source))
    dropped = len(mask) - (mask.true_count or 0)
    if not dropped:
        return raw
    log.skip(source, keep.reason, dropped)
    return raw.filter(mask)
