"""Reads a trace: sorts events by category, then says what they were made by."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.kineto import collectives, counters, gpu, host
from tracekit.convert.kineto.context import Context
from tracekit.convert.kineto.devices import device_rows
from tracekit.convert.kineto.events import Event, NameArgs
from tracekit.convert.kineto.flows import Flows
from tracekit.convert.kineto.identity import as_integer
from tracekit.convert.kineto.metadata import Metadata, rank_in_text
from tracekit.convert.kineto.stream import EventStream
from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts, Reading
from tracekit.convert.row_batches import fitted
from tracekit.schema import HOST_RANK, TABLES

Rows = Callable[[Sequence[Event], Context], Iterator[Batch]]

_TAIL = 1 << 20
# Later than 2001 in microseconds: a time since the epoch, not since a boot.
_EPOCH_NS = 10**18
_GPU_TABLES = ("kernel", "memcpy", "memset")


def _kernels(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    if "kernel" in context.tables:
        yield from gpu.kernels(events, context)
    if "collective" in context.tables:
        yield from collectives.of_kernels(events, context)


def _operators(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    yield from host.operators(events, context)
    if "collective" in context.tables:
        yield from collectives.of_operators(events, context)


# Categories as Kineto has named them since 2020, with the tables that they fill.
_CATEGORIES: dict[str, tuple[Rows, frozenset[str]]] = {
    category: (rows, frozenset(tables))
    for categories, rows, tables in (
        (
            ("kernel", "Kernel", "hpu_op", "mtia_ccp_events", "collective_comm"),
            _kernels,
            ("kernel", "collective"),
        ),
        (("gpu_memcpy", "Memcpy", "memcpy"), gpu.copies, ("memcpy",)),
        (("gpu_memset", "Memset", "memset"), gpu.fills, ("memset",)),
        (("cuda_sync", "xpu_sync"), gpu.synchronizations, ("sync",)),
        (("cuda_event",), gpu.event_records, ("cuda_event",)),
        (("gpu_user_annotation",), gpu.annotations, ("annotation",)),
        (
            (
                "cuda_runtime",
                "Runtime",
                "runtime",
                "mtia_runtime",
                "glow_runtime",
                "xpu_runtime",
                "privateuse1_runtime",
            ),
            host.runtime_calls,
            ("api_call",),
        ),
        (
            ("cuda_driver", "xpu_driver", "privateuse1_driver"),
            host.driver_calls,
            ("api_call",),
        ),
        (
            ("cpu_op", "Operator"),
            _operators,
            ("operator", "collective", "annotation", "step"),
        ),
        (("user_annotation",), host.annotations, ("annotation", "step")),
        (
            ("python_function",),
            host.python_functions,
            ("python_function", "module"),
        ),
        (("overhead",), host.overheads, ("overhead",)),
    )
    for category in categories
}
# The autograd profiler of PyTorch before Kineto wrote a pid instead of a category.
_PIDS = {"CPU functions": "cpu_op", "CUDA functions": "kernel"}


class Trace:
    """One trace on its way into tables."""

    def __init__(self, capture: Path, reading: Reading) -> None:
        self._capture = capture
        self._reading = reading
        self._log = reading.log
        self._seen: set[str] = set()
        self._names: list[Event] = []
        self._first_ns: int | None = None

    def batches(self) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        with (
            closing(EventStream(self._capture, self._log)) as stream,
            closing(Flows(self._reading.scratch)) as flows,
        ):
            # Names to withhold must be known before the first row.
            self._learn(Metadata(stream.header, b"", CaptureLog()))
            facts, rank = self._rank(stream.header)
            context = Context(rank, self._reading.tables, self._log)
            for events in stream.chunks():
                for batch in self._chunk(events, context, flows):
                    yield self._noted(batch)
                del events
            if "flow" in context.tables:
                for batch in flows.links(context):
                    yield self._noted(batch)
            metadata = Metadata(stream.header, stream.trailer, self._log)
        self._describe(metadata, facts)
        for batch in self._definitions(metadata, context):
            if batch.rows.num_rows:
                yield self._noted(batch)
        self._explain_absence(metadata)

    def _rank(self, header: bytes) -> tuple[RankFacts, int]:
        """Find the rank before the first row; its facts are completed at the end."""
        rank, source = rank_in_name(self._reading.name), "file_name"
        if rank is None:
            rank, source = rank_in_text(header), "profiler"
        if rank is None:
            with self._capture.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - _TAIL))
                rank = rank_in_text(file.read())
        if rank is None:
            rank, source = 0, "none"
        facts = self._log.ranks.setdefault(rank, RankFacts())
        facts.source = source
        return facts, rank

    def _noted(self, batch: Batch) -> Batch:
        self._seen.add(batch.table)
        return batch

    def _chunk(
        self, events: list[Event], context: Context, flows: Flows
    ) -> Iterator[Batch]:
        groups: dict[str | None, list[Event]] = defaultdict(list)
        others: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            (groups[event.cat] if event.ph == "X" else others[event.ph]).append(event)
        for category in (None, ""):
            for event in groups.pop(category, []):
                known = _PIDS.get(str(event.pid), "")
                groups[known].append(event)
        # Work on a GPU does not say which process it is of: hosts come first.
        for category in sorted(groups, key=lambda c: c not in ("cpu_op", "Operator")):
            found = groups[category]
            known_category = _CATEGORIES.get(category or "")
            if known_category is not None:
                rows, tables = known_category
                if tables & context.tables:
                    yield from rows(found, context)
            elif category == "Trace":
                self._note_span(found, context)
            else:
                self._log.skip(f"category {category!r}", "not known", len(found))
        yield from self._rest(others, context, flows)

    def _rest(
        self, others: dict[str, list[Event]], context: Context, flows: Flows
    ) -> Iterator[Batch]:
        for phase, found in others.items():
            if phase in ("s", "f"):
                if "flow" in context.tables:
                    flows.add(phase, found, context)
            elif phase in ("i", "I"):
                yield from host.instants(found, context)
            elif phase == "C":
                yield from counters.samples(found, context)
            elif phase == "M":
                self._note_names(found, context)
            else:
                self._log.skip("event", f"phase {phase!r} is not read", len(found))

    def _note_span(self, events: Sequence[Event], context: Context) -> None:
        """The profiler's own span: where the capture began."""
        start = pc.min(context.times([event.ts for event in events])).as_py()
        if start is not None and (self._first_ns is None or start < self._first_ns):
            self._first_ns = start

    def _note_names(self, events: Sequence[Event], context: Context) -> None:
        identity = context.identity
        for event, args in zip(events, context.args(NameArgs, events), strict=True):
            pid, tid = as_integer(event.pid), as_integer(event.tid)
            if not args.name or pid is None:
                continue
            if event.name == "process_name":
                identity.process_names[pid] = args.name
            elif event.name == "thread_name" and tid is not None:
                identity.thread_names[pid, tid] = args.name

    def _learn(self, metadata: Metadata) -> None:
        if metadata.host:
            self._log.private.hosts.add(metadata.host)
        self._log.private.users |= metadata.users()

    def _describe(self, metadata: Metadata, facts: RankFacts) -> None:
        log = self._log
        version = metadata.keys.get("schemaVersion")
        log.schema_version = None if version is None else str(version)
        log.settings.update(metadata.settings())
        if metadata.host:
            facts.hosts.add(metadata.host)
        self._learn(metadata)
        withheld = metadata.withheld()
        if withheld:
            log.leave_behind("metadata", "keys that are not on the list", withheld)
        base = metadata.base_ns
        first = self._first_ns
        if base is not None and base > 0:
            facts.origin_utc_ns = base
        elif first is not None and first > _EPOCH_NS:
            facts.origin_utc_ns = 0
        if facts.origin_utc_ns is not None and first is not None:
            log.start_utc_ns = facts.origin_utc_ns + first

    def _definitions(self, metadata: Metadata, context: Context) -> Iterator[Batch]:
        identity, rank = context.identity, context.rank
        devices = device_rows(metadata.devices, identity.ordinals(), metadata.host)
        for table, place, rows in (
            ("device", HOST_RANK, devices),
            ("process", rank, identity.process_rows(metadata.host)),
            ("thread", rank, identity.thread_rows()),
            ("context", rank, identity.context_rows()),
            ("stream", rank, identity.stream_rows()),
            ("run_fact", rank, metadata.facts()),
            ("diagnostic", rank, metadata.messages()),
        ):
            if table in context.tables:
                yield Batch(table, place, _rows(table, rows))

    def _explain_absence(self, metadata: Metadata) -> None:
        settings = self._log.settings
        reasons = {
            "library_call": "Kineto does not record it",
            "os_call": "Kineto does not record it",
            "cpu_sample": "Kineto does not record it",
            "cpu_slice": "Kineto does not record it",
            "call_stack": "Kineto does not record it",
            "counter_sample": "the trace has no counter events",
            "kernel_metric": "a second run reads counters: tracekit collect --counters",
            "memory_segment": "recorded in a memory snapshot of PyTorch",
            "python_function": "recorded with profile(with_stack=True)",
            "module": "recorded with profile(with_stack=True, with_modules=True)",
            "collective": "no communication was recorded",
            "sync": "recorded by newer versions where CUDA synchronization events "
            "are enabled",
            "cuda_event": "recorded by newer versions where CUDA synchronization "
            "events are enabled",
            "step": "recorded where the program calls profiler.step()",
            "memory_event": "recorded with profile(profile_memory=True)",
        }
        if settings.get("profile_memory") == "1":
            reasons["memory_event"] = "no allocation was recorded"
        if not self._seen & set(_GPU_TABLES):
            what = (
                "the trace names no GPU: it is of the CPU only"
                if not metadata.devices
                else "the GPU was idle, or ProfilerActivity.CUDA was not asked for"
            )
            reasons.update(dict.fromkeys((*_GPU_TABLES, "graph_launch"), what))
            self._log.diagnose("warning", f"no GPU activity: {what}")
        reasons.setdefault(
            "graph_launch", "Kineto records the kernels of a graph, not the graph"
        )
        for table in sorted(self._reading.tables - self._seen):
            if table in reasons:
                self._log.absent.setdefault(table, reasons[table])


def _rows(table: str, rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    schema = TABLES[table].arrow
    columns = [fitted([row.get(f.name) for row in rows], f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
