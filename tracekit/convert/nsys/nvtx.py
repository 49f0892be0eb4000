"""NVTX: ranges and marks to `annotation`, NCCL's payloads to `collective`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.nsys.definitions import definitions
from tracekit.convert.nsys.export import Export, resolve
from tracekit.convert.nsys.fields import Lookups, without
from tracekit.convert.nsys.mapping import by_rank, table_rows
from tracekit.convert.nsys.payloads import PayloadSchemas
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
_VALUES = ("uint64Value", "int64Value", "uint32Value", "int32Value", *_REALS)
_TEXTS = ("text", "jsonText")
_BLOB = "binaryData"
_REQUIRED = frozenset({"start", "eventType"})
_MARKS = frozenset({34, 65})


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
    names = _Names(export, source, lookups, log)
    schemas = _schemas_needed(export, source, log)
    wanted = pa.schema(
        [(name, pa.int64()) for name in _INTEGERS if name in present]
        + [(name, pa.float64()) for name in _REALS if name in present]
        + [(name, pa.string()) for name in _TEXTS if name in present]
        + ([(_BLOB, pa.binary())] if schemas else [])
    )
    for exported in export.batches(source, wanted):
        # Exports of 2019 and 2020 write 0 where nothing was recorded.
        raw = exported if log.schema_version else _without_zeros(exported)
        kinds = raw.column("eventType")
        known = pc.is_in(kinds, pa.array(sorted(_KINDS), pa.int64()))
        defined = pc.is_in(kinds, pa.array(sorted(_DEFINITIONS), pa.int64()))
        skipped = len(raw) - (known.true_count or 0) - (defined.true_count or 0)
        if skipped:
            log.skip(source, "an event type that is no range and no mark", skipped)
        kept = raw.filter(known)
        if kept.num_rows:
            yield from _annotations(kept, names, schemas, lookups)


def _schemas_needed(
    export: Export, source: str, log: CaptureLog
) -> PayloadSchemas | None:
    """Return the schemas of payloads that stand in the export in binary alone."""
    present = export.columns(source)
    schemas = PayloadSchemas(export, log)
    if not schemas or _BLOB not in present:
        return None
    decoded = [
        (name, kind)
        for name, kind in (("jsonText", pa.string()), ("jsonTextId", pa.int64()))
        if name in present
    ]
    for batch in export.batches(source, pa.schema(decoded)) if decoded else ():
        if any(column.null_count < len(column) for column in batch.columns):
            return None
    return schemas


def _without_zeros(raw: pa.RecordBatch) -> pa.RecordBatch:
    unset = {"end", "textId", "endGlobalTid", *_VALUES}
    columns = [
        without(column, 0) if name in unset else column
        for name, column in zip(raw.schema.names, raw.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=raw.schema)


class _Names:
    """Names of domains and categories, which are events of their own."""

    def __init__(
        self, export: Export, source: str, lookups: Lookups, log: CaptureLog
    ) -> None:
        self.domains: dict[tuple[int, int], str] = {}
        self.categories: dict[tuple[int, int, int], str] = {}
        wanted = frozenset({_CATEGORY, _THREAD_NAME, _DOMAIN})
        for row in definitions(
            export,
            source,
            log,
            integers="eventType textId globalTid domainId category",
            texts="text",
            where=("eventType", wanted),
        ):
            text = row["text"] or lookups.strings.text(row["textId"])
            tid = row["globalTid"]
            if text is None or tid is None:
                continue
            process, domain = tid >> 24, row["domainId"] or _DEFAULT_DOMAIN
            if row["eventType"] == _DOMAIN:
                self.domains[process, domain] = text
            elif row["eventType"] == _CATEGORY:
                self.categories[process, domain, row["category"] or 0] = text
            else:
                lookups.identity.name_thread(tid, text)


def _annotations(
    raw: pa.RecordBatch,
    names: _Names,
    schemas: PayloadSchemas | None,
    lookups: Lookups,
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
        "end_ns": _ends(cells),
        "payload": _payload(cells, schemas, lookups),
    }
    table = TABLES["annotation"]
    rows = table_rows(table, count, columns)
    owner = "globalTid" if "globalTid" in raw.schema.names else None
    yield from by_rank(rows, table, raw, owner, lookups)
    yield from _collectives(raw, columns, owner, lookups)


def _ends(cells: "_Cells") -> pa.Array:
    marks = pc.is_in(cells.integers("eventType"), pa.array(sorted(_MARKS), pa.int64()))
    return pc.if_else(marks, pa.scalar(None, pa.int64()), cells.integers("end"))


class _Cells:
    """Columns of a batch; one that the export lacks is all NULL."""

    def __init__(self, raw: pa.RecordBatch) -> None:
        self._raw = raw

    def integers(self, name: str) -> pa.Array:
        return self._column(name, pa.int64())

    def reals(self, name: str) -> pa.Array:
        return self._column(name, pa.float64())

    def binary(self, name: str) -> pa.Array:
        return self._column(name, pa.binary())

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
    # NVTX's category 0 is "none".
    categories = without(cells.integers("category"), 0)
    if categories.null_count == len(categories):
        return pa.nulls(len(categories), pa.string())
    # A category belongs to a process and a domain: both go into one key.
    domains = pc.fill_null(cells.integers("domainId"), _DEFAULT_DOMAIN)
    in_domain = pc.bit_wise_or(pc.shift_left(domains, 32), categories)

    def name(process: int, key: int) -> str:
        domain, category = key >> 32, key & 0xFFFFFFFF
        return names.categories.get((process, domain, category), str(category))

    return _by_process(tids, in_domain, name)


def _payload(
    cells: _Cells, schemas: PayloadSchemas | None, lookups: Lookups
) -> pa.Array:
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
    if schemas is None:
        return payload
    domains = pc.fill_null(cells.integers("domainId"), _DEFAULT_DOMAIN).to_pylist()
    decoded = [
        None if blob is None else schemas.text(domain, blob)
        for domain, blob in zip(domains, cells.binary(_BLOB).to_pylist(), strict=True)
    ]
    return pc.coalesce(payload, pa.array(decoded, pa.string()))


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
                [_size(p.get("No. of ranks"), 2**31 - 1) for p in payloads], pa.int32()
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


def _size(value: object, most: int = 2**63 - 1) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= most else None
