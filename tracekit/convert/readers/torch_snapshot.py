"""PyTorch: the memory snapshot of `torch.cuda.memory._dump_snapshot`."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from tracekit.convert.nsys.mapping import rows_of, table_rows
from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, RankFacts, Reading
from tracekit.convert.torch.allocator import Change, History
from tracekit.convert.torch.plain_pickle import looks_like_pickle, read_plain_pickle
from tracekit.convert.torch.snapshot import Mark, Snapshot, as_signed, parse_snapshot
from tracekit.convert.torch.stacks import Stacks, printable
from tracekit.schema import HOST_RANK, TABLES

_BATCH_ROWS = 50_000
_PROCESS = 0
_BIGGEST = 2**63
_PLAIN = (str, int, float)
_MADE = frozenset(
    {"memory_event", "memory_segment", "call_stack", "annotation", "device", "context"}
    | {"process", "run_fact", "clock", "step", "rejected", "diagnostic"}
)
_NOT_MEMORY = "a memory snapshot holds what the allocator did and nothing else"
_NO_HISTORY = (
    "the snapshot has no history: call torch.cuda.memory._record_memory_history() "
    "before the part of interest"
)


class TorchSnapshotReader:
    """Reads memory snapshots; a pickle that holds more than plain data is refused."""

    name: ClassVar[str] = "torch-snapshot"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is a pickle."""
        return capture.is_file() and looks_like_pickle(capture)

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        log = reading.log
        content = read_plain_pickle(capture, reading.name)
        size = capture.stat().st_size
        snapshot = parse_snapshot(content, reading.name, size, log)
        rank = rank_in_name(reading.name)
        log.ranks[rank or 0] = RankFacts("none" if rank is None else "name")
        yield from _Rows(snapshot, reading, rank or 0).batches()


class _Rows:
    def __init__(self, snapshot: Snapshot, reading: Reading, rank: int) -> None:
        self._snapshot = snapshot
        self._log = reading.log
        self._tables = reading.tables
        self._rank = rank
        self._stacks = Stacks()
        ordinals = sorted(snapshot.segments.keys() | snapshot.traces.keys())
        self._devices = {ordinal: device for device, ordinal in enumerate(ordinals)}

    def batches(self) -> Iterator[Batch]:
        began = self._time_facts()
        devices = [{"device_id": device} for device in self._devices.values()]
        yield Batch("device", HOST_RANK, rows_of(TABLES["device"], devices))
        yield self._batch("process", [{"process_id": _PROCESS}])
        contexts = [
            {"process_id": _PROCESS, "device_id": device, "cuda_ordinal": ordinal}
            for ordinal, device in self._devices.items()
            if ordinal < 2**31
        ]
        yield self._batch("context", contexts)
        yield self._batch("run_fact", self._settings())
        for ordinal, device in self._devices.items():
            yield from self._device(ordinal, device, began)
        yield from self._annotations()
        if "call_stack" in self._tables:
            for rows in self._stacks.rows():
                yield Batch("call_stack", self._rank, rows)
        for table in TABLES.keys() - _MADE:
            self._log.absent[table] = _NOT_MEMORY
        if not self._snapshot.has_history:
            self._log.absent["annotation"] = _NO_HISTORY
            self._log.diagnose(
                "warning", f"only what was alive is known: {_NO_HISTORY}"
            )

    def _time_facts(self) -> int | None:
        times = [
            entry.time_ns
            for trace in self._snapshot.traces.values()
            for entry in trace
            if entry.time_ns is not None
        ]
        if not times:
            return None
        began = min(times)
        # The allocator's clock counts from 1970.
        self._log.start_utc_ns = began
        self._log.ranks[self._rank].origin_utc_ns = 0
        return began

    def _device(self, ordinal: int, device: int, began: int | None) -> Iterator[Batch]:
        segments = self._snapshot.segments.get(ordinal, [])
        entries = self._snapshot.traces.get(ordinal, [])
        divisions = self._snapshot.settings.get("roundup_power2_divisions")
        history = History(
            segments, entries, divisions if isinstance(divisions, dict) else None
        )
        changes = history.changes(began)
        while part := list(islice(changes, _BATCH_ROWS)):
            rows = self._events(part, device)
            if "memory_event" in self._tables:
                yield Batch("memory_event", self._rank, rows)
        spans = [
            {
                "process_id": _PROCESS,
                "device_id": device,
                "stream_id": span.stream,
                "start_ns": span.start_ns,
                "end_ns": span.end_ns,
                "address": as_signed(span.address),
                "bytes": span.bytes,
                "allocator": "torch",
            }
            for span in history.spans
        ]
        if spans and "memory_segment" in self._tables:
            yield self._batch("memory_segment", spans)
        self._check(ordinal, history)

    def _check(self, ordinal: int, history: History) -> None:
        for segment in self._snapshot.segments.get(ordinal, []):
            held = sum(block.bytes for block in segment.blocks if block.is_allocated)
            if segment.allocated_bytes not in (None, held):
                self._log.diagnose(
                    "warning",
                    f"the segment at {segment.address} of device {ordinal} says that "
                    f"{segment.allocated_bytes} bytes are allocated; its blocks add up "
                    f"to {held}",
                )
        if history.unmatched:
            self._log.diagnose(
                "warning",
                f"{history.unmatched} events of device {ordinal} contradict what the "
                "snapshot says was alive at its end; the totals leave them out",
            )
        found = Counter(e.action for e in self._snapshot.traces.get(ordinal, []))
        for action, count in found.items():
            if action not in _ACTIONS:
                self._log.skip(printable(action), "changes no memory", count)

    def _events(self, changes: list[Change], device: int) -> pa.RecordBatch:
        count = len(changes)
        columns = {
            "process_id": pa.array([_PROCESS] * count, pa.int32()),
            "device_id": pa.array([device] * count, pa.int32()),
            "stream_id": _longs(c.stream for c in changes),
            "time_ns": _longs(c.time_ns for c in changes),
            "kind": pa.array([c.kind for c in changes]).dictionary_encode(),
            "address": _longs(
                None if c.address is None else as_signed(c.address) for c in changes
            ),
            "bytes": _longs(c.bytes for c in changes),
            "requested_bytes": _longs(c.requested_bytes for c in changes),
            "allocator": pa.array(["torch"] * count).dictionary_encode(),
            "memory_kind": pa.array(["device"] * count).dictionary_encode(),
            "tag": pa.array([_tag(c) for c in changes], pa.string()),
            "total_allocated_bytes": _longs(c.allocated_bytes for c in changes),
            "total_reserved_bytes": _longs(c.reserved_bytes for c in changes),
            "call_stack_id": _longs(self._stacks.number(c.frames) for c in changes),
        }
        return table_rows(TABLES["memory_event"], count, columns)

    def _annotations(self) -> Iterator[Batch]:
        rows = [*self._ranges(), *self._marks()]
        if rows and "annotation" in self._tables:
            yield self._batch("annotation", rows)

    def _ranges(self) -> Iterator[dict[str, Any]]:
        open_: dict[tuple[str, int | None], list[Mark]] = {}
        for mark in self._snapshot.marks:
            starts = open_.setdefault((mark.name, mark.device), [])
            if mark.is_start:
                starts.append(mark)
            elif starts:
                yield _range(starts.pop(), mark.time_ns)
            else:
                self._log.skip("annotation", "its start was not recorded")
        for starts in open_.values():
            for mark in starts:
                yield _range(mark, None)

    def _marks(self) -> Iterator[dict[str, Any]]:
        for trace in self._snapshot.traces.values():
            for entry in trace:
                if entry.action == "user_defined" and entry.time_ns is not None:
                    yield {
                        "process_id": _PROCESS,
                        "kind": "mark",
                        "text": printable(entry.tag or ""),
                        "start_ns": entry.time_ns,
                        "end_ns": entry.time_ns,
                    }

    def _settings(self) -> list[dict[str, Any]]:
        rows = []
        for key, value in self._snapshot.settings.items():
            text = _setting(value)
            if text:
                rows.append(
                    {
                        "key": f"allocator.{printable(key)}",
                        "value": printable(text),
                        "source": "allocator_settings",
                    }
                )
        return rows

    def _batch(self, table: str, rows: list[dict[str, Any]]) -> Batch:
        return Batch(table, self._rank, rows_of(TABLES[table], rows))


_ACTIONS = frozenset(
    {"alloc", "free_requested", "free_completed", "oom", "user_defined"}
    | {"segment_alloc", "segment_free", "segment_map", "segment_unmap"}
)


def _range(start: Mark, end_ns: int | None) -> dict[str, Any]:
    return {
        "process_id": _PROCESS,
        "kind": "start_end",
        "text": printable(start.name),
        "start_ns": start.time_ns,
        "end_ns": end_ns,
    }


def _tag(change: Change) -> str | None:
    return None if change.tag is None else printable(change.tag)


def _setting(value: object) -> str | None:
    """Return a setting as text; only flat ones are known."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        if not all(isinstance(v, _PLAIN) for v in (*value.keys(), *value.values())):
            return None
    elif not isinstance(value, _PLAIN):
        return None
    return json.dumps(value)


def _longs(values: Iterable[int | None]) -> pa.Array:
    return pa.array(
        [None if v is None or not -_BIGGEST <= v < _BIGGEST else v for v in values],
        pa.int64(),
    )
