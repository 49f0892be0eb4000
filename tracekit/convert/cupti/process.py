"""The records of one process of the native CUPTI collector, as rows of the tables."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.cupti.capture_file import Block, CaptureFile
from tracekit.convert.distinct import map_distinct
from tracekit.convert.names import api_name, base_name, demangle
from tracekit.convert.nsys.mapping import table_rows
from tracekit.convert.nvprof.activities import COPY_KINDS, MEMORY_KINDS
from tracekit.convert.readers.base import Batch
from tracekit.convert.row_batches import RowBatches
from tracekit.schema import TABLES

Columns = dict[str, pa.Array]

_SYNC_KINDS = {1: "event", 2: "stream_wait_event", 3: "stream", 4: "context"}
_LAUNCH_TYPES = {0: "regular", 1: "cooperative", 2: "cooperative_multi_device"}
_DOMAINS = {1: "driver", 2: "runtime"}
_OPERATIONS = {1: "allocate", 2: "free"}
_OVERHEADS = {
    0: "unknown",
    1: "JIT compilation by the driver",
    1 << 16: "CUPTI buffer flush",
    2 << 16: "CUPTI instrumentation",
    3 << 16: "CUPTI resource creation",
    4 << 16: "module loading by the runtime",
    5 << 16: "lazy function loading",
    6 << 16: "command buffer full",
    7 << 16: "activity buffer request",
    8 << 16: "UVM activity initialization",
}
_UNSET = 2**32 - 1
# What a record of an object says: that of a process, or of a thread.
_OF_THREAD = 2
# Flags of a marker.
_MARK, _BEGIN, _END = 1, 2, 4
_AS_IT_IS = {
    "kernel": (
        *("start_ns", "end_ns", "grid_x", "grid_y", "grid_z"),
        *("block_x", "block_y", "block_z", "registers_per_thread"),
        *("static_shared_bytes", "dynamic_shared_bytes", "executed_shared_bytes"),
        *("local_bytes_per_thread", "local_bytes_total"),
    ),
    "memcpy": ("start_ns", "end_ns", "bytes"),
    "memset": ("start_ns", "end_ns", "bytes", "value"),
    "graph_launch": ("start_ns", "end_ns"),
    "api_call": ("start_ns", "end_ns", "return_value"),
    "sync": ("start_ns", "end_ns"),
    "cuda_event": ("event_id",),
    "memory_event": ("time_ns", "address", "bytes"),
    "overhead": ("start_ns", "end_ns"),
}
_TABLES = {"memory": "memory_event", **{name: name for name in _AS_IT_IS}}
# What else the records of a kind must tell to be read.
_MORE = {
    "kernel": (
        *("name", "cluster_x", "cluster_y", "cluster_z", "launch_type"),
        *("context_id", "stream_id"),
    ),
    "memcpy": (
        *("copy_kind", "source_kind", "destination_kind", "copy_count"),
        *("source_device", "destination_device"),
    ),
    "memset": ("memory_kind",),
    "api_call": ("name", "domain"),
    "sync": ("kind", "event_id"),
    "memory": ("operation", "memory_kind"),
    "overhead": ("kind", "correlation_id"),
    "marker": ("time_ns", "id", "flags", "name", "domain", "object_kind", "thread"),
    "device": (
        *("uuid_high", "uuid_low", "memory_bytes", "bandwidth_kb_s", "ordinal"),
        *("name", "capability_major", "capability_minor", "sm_count", "clock_khz"),
        *("l2_cache_bytes", "warp_size", "max_warps_per_sm", "max_blocks_per_sm"),
        *("max_threads_per_block", "registers_per_sm", "shared_bytes_per_sm"),
    ),
    "context": (
        *("context_id", "device", "null_stream_id", "parent_context_id"),
        "is_green",
    ),
    "dropped": ("records",),
    "refused": ("activity", "error"),
}
_REFUSALS = {
    35: "this user may not read GPU activity (the driver keeps it for the "
    "administrator)",
    39: "another profiler has the GPU records of the process",
}
_ACTIVITIES = {0: "anything", 1: "copies", 2: "fills", 10: "kernels", 11: "NVTX ranges"}


class Process:
    """One process and what is known of it.

    Args:
        file: Its capture file.
        process_id: Its dense id.
        rank: Its rank.
        device_of: The dense id of a device, by the ordinal of this process.
        thread_of: The dense id of a thread, by the id of the system.
        rows: Takes rows that are made one at a time.
    """

    def __init__(
        self,
        file: CaptureFile,
        process_id: int,
        rank: int,
        *,
        device_of: Callable[[int], int],
        thread_of: Callable[[int], int],
        rows: RowBatches,
    ) -> None:
        self.file = file
        self.process_id = process_id
        self.rank = rank
        self.dropped = 0
        self.unpaired = 0
        self.incomplete: Counter[str] = Counter()
        self.refusals: list[str] = []
        self._device_of = device_of
        self._thread_of = thread_of
        self._rows = rows
        self._context_device: dict[int, int] = {}
        self._contexts: set[int] = set()
        self._streams: set[tuple[int, int]] = set()
        self._open: dict[int, dict[str, Any]] = {}

    def learn(self, on_device: Callable[[dict[str, Any]], None]) -> None:
        """Read what other records refer to, which may stand behind them.

        Args:
            on_device: Told of each device that is described.
        """
        for block in self.file.blocks():
            if block.kind not in ("context", "device") or _lacks(block):
                continue
            for row in block.rows.to_pylist():
                if block.kind == "context":
                    self._context(row)
                else:
                    on_device({**row, "name": self.file.texts.get(row["name"])})

    def events(self) -> Iterator[Batch]:
        """Yield the rows of the file's blocks, in their order."""
        for block in self.file.blocks():
            if _lacks(block):
                self.incomplete[block.kind] += block.rows.num_rows
            elif block.kind in _TABLES:
                yield self._batch(_TABLES[block.kind], block)
            elif block.kind == "dropped":
                self.dropped += pc.sum(block.rows.column("records")).as_py()
            elif block.kind == "refused":
                self.refusals += map(_refusal, block.rows.to_pylist())
            elif block.kind == "marker":
                for row in block.rows.to_pylist():
                    self._mark(row)
        # A range that is open at the end of the capture has no end.
        for begun in self._open.values():
            self._rows.add("annotation", self.rank, begun)
        for context, stream in sorted(self._streams):
            self._rows.add(
                "stream",
                self.rank,
                {
                    "process_id": self.process_id,
                    "context_id": context,
                    "stream_id": stream,
                },
            )

    def _batch(self, table: str, block: Block) -> Batch:
        raw = block.rows
        columns: Columns = {name: raw.column(name) for name in _AS_IT_IS[table]}
        columns |= self._place(raw)
        extra = getattr(self, f"_{table}", None)
        if extra is not None:
            columns |= extra(raw)
        columns["process_id"] = pa.array([self.process_id] * raw.num_rows, pa.int32())
        return Batch(
            table, self.rank, table_rows(TABLES[table], raw.num_rows, _signed(columns))
        )

    def _place(self, raw: pa.RecordBatch) -> Columns:
        """Return where it ran, of what the record tells."""
        present = set(raw.schema.names)
        columns: Columns = {}
        for name in ("context_id", "stream_id", "correlation_id"):
            if name in present:
                columns[name] = _unless(raw.column(name), _UNSET)
        if "graph_id" in present:
            columns["graph_id"] = _unless(raw.column("graph_id"), 0)
        if "graph_node_id" in present:
            columns["graph_node_id"] = _unless(raw.column("graph_node_id"), 0)
        if "device" in present:
            columns["device_id"] = map_distinct(
                _unless(raw.column("device"), _UNSET), self._device_of, pa.int32()
            )
        elif "context_id" in present:
            columns["device_id"] = map_distinct(
                raw.column("context_id"), self._context_device.get, pa.int32()
            )
        if "thread" in present:
            columns["thread_id"] = map_distinct(
                _unless(raw.column("thread"), 0), self._thread_of, pa.int32()
            )
        if {"context_id", "stream_id"} <= present:
            self._note_streams(raw)
        return columns

    def _note_streams(self, raw: pa.RecordBatch) -> None:
        pairs = pa.Table.from_batches([raw.select(["context_id", "stream_id"])])
        for row in (
            pairs.group_by(["context_id", "stream_id"]).aggregate([]).to_pylist()
        ):
            if _UNSET not in row.values():
                self._streams.add((row["context_id"], row["stream_id"]))

    def _text(self, number: int) -> str | None:
        return self.file.texts.get(number)

    def _kernel(self, raw: pa.RecordBatch) -> Columns:
        def demangled(number: int) -> str | None:
            symbol = self._text(number)
            return None if symbol is None else demangle(symbol)

        def mangled(number: int) -> str | None:
            symbol = self._text(number)
            return symbol if symbol and symbol.startswith("_Z") else None

        def short(number: int) -> str | None:
            name = demangled(number)
            return None if name is None else base_name(name)

        columns: Columns = {
            f"cluster_{axis}": _unless(raw.column(f"cluster_{axis}"), 0)
            for axis in "xyz"
        }
        columns["launch_type"] = _one_of(raw.column("launch_type"), _LAUNCH_TYPES)
        for name, value_of in (
            # CUPTI gives symbols.
            ("name", demangled),
            ("mangled_name", mangled),
            ("canonical_name", demangled),
            ("short_name", short),
        ):
            columns[name] = map_distinct(raw.column("name"), value_of, pa.string())
        return columns

    def _memcpy(self, raw: pa.RecordBatch) -> Columns:
        columns: Columns = {
            "copy_kind": _one_of(raw.column("copy_kind"), COPY_KINDS),
            "source_memory_kind": _one_of(raw.column("source_kind"), MEMORY_KINDS),
            "destination_memory_kind": _one_of(
                raw.column("destination_kind"), MEMORY_KINDS
            ),
            "copy_count": _unless(raw.column("copy_count"), 0),
        }
        for end in ("source", "destination"):
            ordinals = _unless(raw.column(f"{end}_device"), -1)
            columns[f"{end}_device_id"] = map_distinct(
                ordinals, self._device_of, pa.int32()
            )
        return columns

    def _memset(self, raw: pa.RecordBatch) -> Columns:
        return {"memory_kind": _one_of(raw.column("memory_kind"), MEMORY_KINDS)}

    def _api_call(self, raw: pa.RecordBatch) -> Columns:
        def name_of(number: int) -> str | None:
            text = self._text(number)
            return None if text is None else api_name(text)

        return {
            "name": map_distinct(raw.column("name"), name_of, pa.string()),
            "domain": _one_of(raw.column("domain"), _DOMAINS),
        }

    def _sync(self, raw: pa.RecordBatch) -> Columns:
        return {
            "kind": _one_of(raw.column("kind"), _SYNC_KINDS),
            "event_id": _unless(raw.column("event_id"), _UNSET),
        }

    def _memory_event(self, raw: pa.RecordBatch) -> Columns:
        return {
            "kind": _one_of(raw.column("operation"), _OPERATIONS),
            "memory_kind": _one_of(raw.column("memory_kind"), MEMORY_KINDS),
            "allocator": pa.array(["cuda"] * raw.num_rows).dictionary_encode(),
        }

    def _overhead(self, raw: pa.RecordBatch) -> Columns:
        def kind_of(kind: int) -> str:
            return _OVERHEADS.get(kind, f"overhead {kind}")

        return {
            "kind": map_distinct(raw.column("kind"), kind_of, pa.string()),
            "correlation_id": _unless(raw.column("correlation_id"), 0),
        }

    def _mark(self, row: dict[str, Any]) -> None:
        """Pair the starts and ends of NVTX ranges."""
        thread = self._thread_of(row["thread"]) if row["thread"] else None
        if row["flags"] & _END:
            begun = self._open.pop(row["id"], None)
            if begun is None:
                self.unpaired += 1
                return
            begun["end_ns"] = row["time_ns"]
            if begun["kind"] == "start_end":
                begun["end_thread_id"] = thread
            self._rows.add("annotation", self.rank, begun)
            return
        is_mark = not row["flags"] & _BEGIN
        of_thread = row["object_kind"] == _OF_THREAD
        begun = {
            "process_id": self.process_id,
            "thread_id": thread,
            "kind": "mark" if is_mark else "push_pop" if of_thread else "start_end",
            "domain": self._text(row["domain"]),
            "text": self._text(row["name"]),
            "start_ns": row["time_ns"],
            "end_ns": row["time_ns"] if is_mark else None,
        }
        if is_mark:
            self._rows.add("annotation", self.rank, begun)
        else:
            self._open[row["id"]] = begun

    def _context(self, row: dict[str, Any]) -> None:
        device = self._device_of(row["device"])
        self._context_device[row["context_id"]] = device
        # It is described again each time that recording starts.
        if row["context_id"] in self._contexts:
            return
        self._contexts.add(row["context_id"])
        parent = row["parent_context_id"]
        self._rows.add(
            "context",
            self.rank,
            {
                "process_id": self.process_id,
                "context_id": row["context_id"],
                "device_id": device,
                "cuda_ordinal": row["device"],
                "null_stream_id": row["null_stream_id"],
                "parent_context_id": None if parent in (0, _UNSET) else parent,
                "is_green": bool(row["is_green"]),
            },
        )


def _lacks(block: Block) -> bool:
    """Tell whether the file describes a kind without something that is needed."""
    as_it_is = _AS_IT_IS.get(_TABLES.get(block.kind, ""), ())
    needed = {*as_it_is, *_MORE.get(block.kind, ())}
    return not needed <= set(block.rows.schema.names)


def _one_of(numbers: pa.Array, names: Mapping[int, str]) -> pa.Array:
    return map_distinct(numbers, names.get, pa.string())


def _unless(numbers: pa.Array, unset: int) -> pa.Array:
    none = pa.scalar(None, numbers.type)
    return pc.if_else(pc.equal(numbers, pa.scalar(unset, numbers.type)), none, numbers)


def _signed(columns: Columns) -> Columns:
    """Return unsigned numbers in a signed type that holds them all."""
    return {
        name: column.cast(pa.int64()) if column.type == pa.uint32() else column
        for name, column in columns.items()
    }


def _refusal(row: dict[str, Any]) -> str:
    what = _ACTIVITIES.get(row["activity"], f"activity {row['activity']}")
    why = _REFUSALS.get(row["error"], f"error {row['error']}")
    return f"CUPTI refused to record {what}: {why}"
