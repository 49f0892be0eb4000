"""NVTX: ranges and marks to `annotation`, NCCL's payloads to `collective`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.nsys.export import Export, resolve
from tracekit.convert.nsys.fields import Lookups
from tracekit.convert.nsys.mapping import by_rank, table_rows
from tracekit.convert.readers.base import Batch, CaptureLog
from tracekit.schema import TABLES

_CATEGORY, _THREAD_NAME, _DOMAIN = 33, 39, 75
# 65, 70 and 71 are the same, imported from a text file.
_KINDS = {
    34: "mark",
    59: "push_pop",
    60: "start_end",
    65: "mark",
    70: "push_pop",
    71: "start_end",
}
# Definitions and names; they are no annotations of their own.
_DEFINITIONS = frozenset({33, 39, 64, 72, 73, 74, 75, 76, 97, 98, 99})
_DEFAULT_DOMAIN = 0
_NCCL = "NCCL"
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_INTEGERS = (
    "start",
    "end",
    "eventType",
    "globalTid",
    "endGlobalTid",
    "textId",
    "domainId",
    "category",
    "jsonTextId",
    "uint64Value",
    "int64Value",
    "uint32Value",
    "int32Value",
)
_REALS = ("doubleValue", "floatValue")
_TEXTS = ("text", "jsonText")
_REQUIRED = frozenset({"start", "eventType"})


def read_nvtx(export: Export, lookups: Lookups, log: CaptureLog) -> Iterator[Batch]:
    """Yield the annotations, and the collectives that NCCL described in them."""
    source = resolve(export, "NVTX_EVENTS")
    present = export.columns(source)
    if not present:
        return
    missing = sorted(_REQUIRED - present)
    if missing:
        rows = export.count(source)
        log.skip(source, f"without the column `{missing[0]}` it cannot be read", rows)
        log.diagnose("error", f"{source} has no column `{missing[0]}`: it is not read")
        log.absent["annotation"] = f"{source} has no column `{missing[0]}`"
        return
    names = _Names(export, source, lookups)
    wanted = pa.schema(
        [(name, pa.int64()) for name in _INTEGERS if name in present]
        + [(name, pa.float64()) for name in _REALS if name in present]
        + [(name, pa.string()) for name in _TEXTS if name in present]
    )
    for raw in export.batches(source, wanted):
        kinds = raw.column("eventType")
        known = pc.is_in(kinds, pa.array(sorted(_KINDS), pa.int64()))
        defined = pc.is_in(kinds, pa.array(sorted(_DEFINITIONS), pa.int64()))
        skipped = len(raw) - (known.true_count or 0) - (defined.true_count or 0)
        if skipped:
            log.skip(source, "an event type that is no range and no mark", skipped)
        kept = raw.filter(known)
        if kept.num_rows:
            yield from _annotations(kept, names, lookups)


class _Names:
    """Names of domains and categories, which are events of their own."""

    def __init__(self, export: Export, source: str, lookups: Lookups) -> None:
        self.domains: dict[tuple[int, int], str] = {}
        self.categories: dict[tuple[int, int, int], str] = {}
        wanted = frozenset({_CATEGORY, _THREAD_NAME, _DOMAIN})
        for row in export.rows(source, "eventType", wanted):
            text = row.get("text") or lookups.strings.text(row.get("textId"))
            tid = row.get("globalTid")
            if text is None or not isinstance(tid, int):
                continue
            process, domain = tid >> 24, row.get("domainId") or _DEFAULT_DOMAIN
            if row["eventType"] == _DOMAIN:
                self.domains[process, domain] = text
            elif row["eventType"] == _CATEGORY:
                self.categories[process, domain, row.get("category") or 0] = text
            else:
                lookups.identity.name_thread(tid, text)


def _annotations(
    raw: pa.RecordBatch, names: _Names, lookups: Lookups
) -> Iterator[Batch]:
    count = raw.num_rows
    cells = _Cells(raw)
    tids = cells.integers("globalTid")
    text = pc.coalesce(
        cells.text("text"),
        lookups.strings.column(cells.integers("textId")).cast("string"),
    )
    domains = _by_process(
        tids, cells.integers("domainId"), lambda p, d: names.domains.get((p, d))
    )
    columns = {
        "process_id": lookups.identity.processes(tids),
        "thread_id": lookups.identity.threads(tids),
        "end_thread_id": lookups.identity.threads(cells.integers("endGlobalTid")),
        "kind": map_distinct(cells.integers("eventType"), _KINDS.get, pa.string()),
        "domain": domains,
        "category": _categories(cells, tids, names),
        "text": text,
        "start_ns": cells.integers("start"),
        "end_ns": cells.integers("end"),
        "payload": _payload(cells, lookups),
    }
    table = TABLES["annotation"]
    rows = table_rows(table, count, columns)
    owner = "globalTid" if "globalTid" in raw.schema.names else None
    yield from by_rank(rows, table, raw, owner, lookups)
    yield from _collectives(raw, columns, owner, lookups)


class _Cells:
    """Columns of a batch; one that the export lacks is all NULL."""

    def __init__(self, raw: pa.RecordBatch) -> None:
        self._raw = raw

    def integers(self, name: str) -> pa.Array:
        return self._column(name, pa.int64())

    def reals(self, name: str) -> pa.Array:
        return self._column(name, pa.float64())

    def text(self, name: str) -> pa.Array:
        # Exports of 2019 write "" for "no text".
        column = self._column(name, pa.string())
        nothing = pa.scalar(None, pa.string())
        return pc.if_else(pc.equal(column, ""), nothing, column)

    def _column(self, name: str, kind: pa.DataType) -> pa.Array:
        if name in self._raw.schema.names:
            return self._raw.column(name)
        return pa.nulls(self._raw.num_rows, kind)


def _by_process(tids: pa.Array, ids: pa.Array, name_of: Any) -> pa.Array:  # noqa: ANN401
    """Map pairs of process and id to names."""
    pairs = pa.StructArray.from_arrays([pc.shift_right(tids, 24), ids], ["p", "i"])
    processes = pairs.field(0).dictionary_encode()
    numbers = pairs.field(1).dictionary_encode()
    keys = pc.add(
        pc.multiply(processes.indices.cast(pa.int64()), len(numbers.dictionary)),
        numbers.indices.cast(pa.int64()),
    )
    process_of = processes.dictionary.to_pylist()
    number_of = numbers.dictionary.to_pylist()

    def name(key: int) -> str | None:
        process, number = divmod(key, len(number_of))
        found: str | None = name_of(process_of[process], number_of[number])
        return found

    return map_distinct(keys, name, pa.string())


def _categories(cells: _Cells, tids: pa.Array, names: _Names) -> pa.Array:
    categories = cells.integers("category")
    if categories.null_count == len(categories):
        return pa.nulls(len(categories), pa.string())
    # A category belongs to a process and a domain: both go into one key.
    domains = pc.fill_null(cells.integers("domainId"), _DEFAULT_DOMAIN)
    in_domain = pc.bit_wise_or(pc.shift_left(domains, 32), categories)

    def name(process: int, key: int) -> str:
        domain, category = key >> 32, key & 0xFFFFFFFF
        return names.categories.get((process, domain, category), str(category))

    return _by_process(tids, in_domain, name)


def _payload(cells: _Cells, lookups: Lookups) -> pa.Array:
    payload = pc.coalesce(
        cells.text("jsonText"),
        lookups.strings.column(cells.integers("jsonTextId")).cast("string"),
    )
    for name in ("int64Value", "uint32Value", "int32Value"):
        payload = pc.coalesce(payload, cells.integers(name).cast("string"))
    unsigned = cells.integers("uint64Value").view(pa.uint64())
    payload = pc.coalesce(payload, unsigned.cast("string"))
    for name in _REALS:
        payload = pc.coalesce(payload, cells.reals(name).cast("string"))
    return payload


def _collectives(
    raw: pa.RecordBatch,
    columns: Mapping[str, pa.Array],
    owner: str | None,
    lookups: Lookups,
) -> Iterator[Batch]:
    """Read what NCCL says of an operation in the payload of its range."""
    mask = pc.and_(
        pc.equal(columns["domain"].cast("string"), _NCCL),
        pc.and_(pc.is_valid(columns["payload"]), pc.is_valid(columns["end_ns"])),
    ).fill_null(fill_value=False)
    if not mask.true_count:
        return
    chosen = {name: column.filter(mask) for name, column in columns.items()}
    payloads = [_json(text) for text in chosen["payload"].to_pylist()]
    table = TABLES["collective"]
    rows = table_rows(
        table,
        len(payloads),
        {
            **{
                name: chosen[name]
                for name in ("process_id", "thread_id", "start_ns", "end_ns")
            },
            "operation": pc.utf8_lower(
                map_distinct(chosen["text"], _operation, pa.string()).cast("string")
            ),
            "communicator": pa.array(
                [_text(p.get("NCCL communicator ID")) for p in payloads], pa.string()
            ),
            "bytes": pa.array(
                [_size(p.get("Message size [bytes]")) for p in payloads], pa.int64()
            ),
            "reduction": pa.array(
                [_lower(p.get("Reduction operation")) for p in payloads], pa.string()
            ),
            "group_size": pa.array(
                [_size(p.get("No. of ranks")) for p in payloads], pa.int32()
            ),
            "source": pa.array(["annotation"] * len(payloads)),
        },
    )
    # A communicator's set-up has no message size.
    sized = pc.is_valid(rows.column("bytes"))
    yield from by_rank(
        rows.filter(sized), table, raw.filter(mask).filter(sized), owner, lookups
    )


def _operation(name: str) -> str:
    """`ncclAllReduce` is all_reduce."""
    return _CAPITAL.sub("_", name.removeprefix("nccl"))


def _json(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _lower(value: object) -> str | None:
    return value.lower() if isinstance(value, str) else None


def _size(value: object) -> int | None:
    return value if isinstance(value, int) else None
