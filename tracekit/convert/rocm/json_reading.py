"""Reads rocprofv3's JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts, Reading
from tracekit.convert.rocm.facts import (
    TOOL,
    blocks,
    call_rows,
    copy_kind,
    device_row,
    explain_absence,
    kernel_names,
)
from tracekit.convert.rocm.records import (
    Collection,
    CounterInfo,
    File,
    Handle,
    Message,
    Process,
    Raw,
    Record,
    Symbol,
)
from tracekit.convert.row_batches import RowBatches, signed64
from tracekit.errors import UnreadableTraceError
from tracekit.schema import HOST_RANK

_T = TypeVar("_T")

_GPU = 2
_CALLS = ("hip_api", "hsa_api", "marker_api", "rccl_api", "rocdecode_api")
_READ = frozenset(
    {*_CALLS, "rocjpeg_api", "kernel_dispatch", "memory_copy", "memory_allocation"}
)


def read_json(capture: Path, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of a file; see `Reader.read`.

    Raises:
        UnreadableTraceError: It is cut short, or is no JSON of rocprofv3.
    """
    log = reading.log
    named = rank_in_name(reading.name)
    rank = named or 0
    log.ranks[rank] = RankFacts(source="none" if named is None else "file_name")
    log.tools[TOOL] = "(experimental reader)"
    rows = RowBatches(reading)
    identity = _Identity()
    for process_id, process in enumerate(_decode(capture).processes):
        host = process.metadata.node.hostname
        if host:
            log.private.hosts.add(host)
            log.ranks[rank].hosts.add(host)
        command = process.metadata.command
        if log.command is None and command:
            log.command = command if isinstance(command, str) else " ".join(command)
        for row in identity.rows(process.agents):
            rows.add("device", HOST_RANK, {**row, "host": host})
        yield from _Reader(process_id, process, rank, rows, identity, log).read()
    yield from rows.rest()
    explain_absence(rows.tables, reading.tables, log)


class _Identity:
    """GPUs by the handle of their agent, which processes share, and threads."""

    def __init__(self) -> None:
        self._ids: dict[int, int] = {}
        self.threads: dict[tuple[int, int], int] = {}

    def rows(self, agents: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the rows of GPUs that were not listed yet."""
        for agent in agents:
            identity = agent.get("id")
            handle = identity.get("handle") if isinstance(identity, dict) else None
            if agent.get("type") != _GPU or not isinstance(handle, int):
                continue
            if handle not in self._ids:
                yield device_row(self.device(handle), agent)

    def device(self, handle: int) -> int:
        """Return the dense id of an agent."""
        return self._ids.setdefault(handle, len(self._ids))

    def gpu(self, handle: Handle | None) -> int | None:
        """Return the dense id of an agent that is a GPU."""
        return None if handle is None else self._ids.get(handle.handle)


class _Reader:
    """Reads one process of a file."""

    def __init__(
        self,
        process_id: int,
        process: Process,
        rank: int,
        rows: RowBatches,
        identity: _Identity,
        log: CaptureLog,
    ) -> None:
        self._process_id = process_id
        self._process = process
        self._rank = rank
        self._rows = rows
        self._identity = identity
        self._log = log
        self._symbols = {
            symbol.kernel_id: symbol
            for symbol in self._records(
                process.kernel_symbols, Symbol, "kernel_symbols"
            )
        }

    def read(self) -> Iterator[Batch]:
        """Yield batches as they fill."""
        buffers = self._process.buffer_records
        for record in self._records(buffers.get("kernel_dispatch"), Record, "kernel"):
            self._kernel(record)
            yield from self._rows.full()
        yield from self._counters(has_kernels=bool(buffers.get("kernel_dispatch")))
        for record in self._records(buffers.get("memory_copy"), Record, "memory_copy"):
            self._copy(record)
            yield from self._rows.full()
        for record in self._records(
            buffers.get("memory_allocation"), Record, "memory_allocation"
        ):
            self._allocation(record)
        messages = {
            message.key: message.value
            for message in self._records(
                self._process.strings.marker_api, Message, "marker_api"
            )
        }
        for kind in (*_CALLS, "rocjpeg_api"):
            for record in self._records(buffers.get(kind), Record, kind):
                self._call(record, kind, messages)
                yield from self._rows.full()
        for kind, records in buffers.items():
            if kind not in _READ and records:
                self._log.skip(kind, "no normalized table holds it", len(records))
        self._describe()

    def _records(self, raw: Raw | None, kind: type[_T], name: str) -> Iterator[_T]:
        decoder = msgspec.json.Decoder(kind, strict=False)
        for record in raw or ():
            try:
                yield decoder.decode(record)
            except (msgspec.DecodeError, UnicodeDecodeError):
                self._log.skip(name, "a record without what it needs")

    def _common(self, record: Record) -> dict[str, Any]:
        correlation = record.correlation_id
        return {
            "process_id": self._process_id,
            "start_ns": record.start_timestamp,
            "end_ns": record.end_timestamp,
            # 0 ties a record to nothing.
            "correlation_id": (correlation.internal or None) if correlation else None,
            "stream_id": record.stream_id.handle if record.stream_id else None,
        }

    def _kernel(self, record: Record) -> None:
        dispatch = record.dispatch_info
        if dispatch is None:
            self._log.skip("kernel", "a record without what it needs")
            return
        symbol = self._symbols.get(dispatch.kernel_id)
        names: dict[str, str | None] = {}
        if symbol is not None:
            shown = symbol.formatted_kernel_name or symbol.demangled_kernel_name
            names = kernel_names(symbol.kernel_name, shown)
        shape: dict[str, int | None] = {}
        for axis in "xyz":
            size = getattr(dispatch.workgroup_size, axis)
            shape[f"block_{axis}"] = size
            shape[f"grid_{axis}"] = blocks(getattr(dispatch.grid_size, axis), size)
        self._rows.add(
            "kernel",
            self._rank,
            {
                **self._common(record),
                **names,
                **shape,
                "device_id": self._identity.device(dispatch.agent_id.handle),
                "registers_per_thread": symbol.arch_vgpr_count if symbol else None,
                "shared_bytes": dispatch.group_segment_size,
                "local_bytes_per_thread": dispatch.private_segment_size,
            },
        )
        self._thread(record.thread_id)

    def _counters(self, *, has_kernels: bool) -> Iterator[Batch]:
        names = {
            info.id.handle: info.name
            for info in self._records(self._process.counters, CounterInfo, "counters")
        }
        collected = self._process.callback_records.get("counter_collection")
        for place, found in enumerate(
            self._records(collected, Collection, "counter_collection")
        ):
            record = found.dispatch_data
            if not has_kernels:
                self._kernel(record)
            correlation = self._common(record)["correlation_id"]
            for counter in found.records:
                handle = counter.counter_id.handle
                self._rows.add(
                    "kernel_metric",
                    self._rank,
                    {
                        "process_id": self._process_id,
                        "launch_index": place,
                        "correlation_id": correlation,
                        "metric": names.get(handle, f"counter_{handle}"),
                        "value": counter.value,
                        "tool": TOOL,
                    },
                )
            yield from self._rows.full()

    def _copy(self, record: Record) -> None:
        source = self._identity.gpu(record.src_agent_id)
        target = self._identity.gpu(record.dst_agent_id)
        self._rows.add(
            "memcpy",
            self._rank,
            {
                **self._common(record),
                "device_id": target if target is not None else source,
                "source_device_id": source,
                "destination_device_id": target,
                "bytes": record.bytes,
                "copy_kind": copy_kind(self._operation(record)),
            },
        )

    def _allocation(self, record: Record) -> None:
        operation = self._operation(record) or ""
        self._rows.add(
            "memory_event",
            self._rank,
            {
                **self._common(record),
                "thread_id": self._thread(record.thread_id),
                "device_id": self._identity.gpu(record.agent_id),
                "time_ns": record.start_timestamp,
                "kind": "free" if operation.endswith("FREE") else "allocate",
                "address": _address(record.address),
                "bytes": record.allocation_size or None,
                "allocator": "hsa",
            },
        )

    def _call(self, record: Record, kind: str, messages: dict[int, str]) -> None:
        row = {
            **self._common(record),
            "thread_id": self._thread(record.thread_id),
        }
        del row["stream_id"]
        correlation = row["correlation_id"]
        text = messages.get(correlation) if correlation is not None else None
        name = self._operation(record)
        for table, found in call_rows(kind.upper(), name, text, row):
            self._rows.add(table, self._rank, found)

    def _operation(self, record: Record) -> str | None:
        kinds = self._process.strings.buffer_records
        if not 0 <= record.kind < len(kinds):
            return None
        names = kinds[record.kind].operations
        return names[record.operation] if 0 <= record.operation < len(names) else None

    def _thread(self, os_tid: int) -> int:
        threads = self._identity.threads
        key = (self._process_id, os_tid)
        if key not in threads:
            threads[key] = len(threads)
            row = {"thread_id": threads[key], "process_id": key[0], "os_tid": os_tid}
            self._rows.add("thread", self._rank, row)
        return threads[key]

    def _describe(self) -> None:
        metadata = self._process.metadata
        command = metadata.command
        program = command.split(" ")[0] if isinstance(command, str) else ""
        if isinstance(command, list) and command:
            program = command[0]
        self._rows.add(
            "process",
            self._rank,
            {
                "process_id": self._process_id,
                "os_pid": metadata.pid or None,
                "host": metadata.node.hostname,
                "name": program.rsplit("/", 1)[-1] or None,
            },
        )


def _decode(capture: Path) -> File:
    try:
        return msgspec.json.decode(capture.read_bytes(), type=File, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableTraceError(
            f"{capture.name} is cut short, or is no JSON of rocprofv3: {error}",
            hint="copy it again",
        ) from error


def _address(value: int | str | Handle | None) -> int | None:
    if isinstance(value, Handle):
        value = value.handle
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return None
    return None if value is None else signed64(value)
