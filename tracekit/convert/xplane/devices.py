"""The planes of GPUs and TPUs: kernels, copies, fills, graphs, allocations."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tracekit.convert.names import base_name, demangle, normal_form
from tracekit.convert.peaks import peak_fp32
from tracekit.convert.readers.base import Batch, CaptureLog
from tracekit.convert.row_batches import RowBatches, signed64
from tracekit.convert.xplane.details import (
    copy_destination,
    copy_details,
    kernel_details,
    memory_details,
    occupancy,
)
from tracekit.convert.xplane.space import Event, Head, Line, Plane
from tracekit.schema import HOST_RANK

DEVICE_PLANE = re.compile(r"/device:(GPU|TPU):(\d{1,9})")
_STREAM = re.compile(r"Stream #(\d{1,18})")
_TPU_OPS = "XLA Ops"
_OVERHEAD_LINE = "CUPTI overhead"
_COUNTERS = "_counters_"
# The line of overhead that no stream or thread has: 32 bits that are all 1.
_NO_STREAM = 0xFFFFFFFF
# ROCm names the descriptor of a kernel, not its function.
_DESCRIPTOR = re.compile(r"(?:\.kd| \[clone \.kd\])\Z")
# What CUPTI records that is no work of the GPU.
_OVERHEAD = frozenset(
    {"DRIVER_COMPILER", "BUFFER_FLUSH", "INSTRUMENTATION", "RESOURCE", "Overhead"}
)
_NO_WORK = frozenset(
    {
        "UnifiedMemory",
        "MemoryResidency",
        "HostRegister",
        "HostUnregister",
        "Generic",
        "Unsupported",
    }
)
_DETAILS = ("memcpy_details", "Memset_details", "memalloc_details", "MemFree_details")
_XLA_MODULE = "XlaModule:"


def device_row(head: Head, device_id: int, host: str | None) -> dict[str, Any]:
    """Return the row of `device` of a plane."""
    stats = head.stats
    row: dict[str, Any] = {"device_id": device_id, "host": host}
    name = stats.get("gpu_device_name") or stats.get("device_type_string")
    if isinstance(name, str):
        row["name"] = name
    # A size of 0 is how a plane writes "unknown".
    for column, stat, factor in (
        ("sm_count", "core_count", 1),
        ("memory_bytes", "memory_size", 1),
        ("memory_bandwidth", "memory_bandwidth", 1),
        ("max_clock_hz", "clock_rate", 1000),
    ):
        value = stats.get(stat)
        if isinstance(value, int) and value > 0:
            row[column] = value * factor
    major, minor = stats.get("compute_cap_major"), stats.get("compute_cap_minor")
    nvidia = str(stats.get("device_vendor", "")).lower() in ("", "nvidia")
    if nvidia and isinstance(major, int) and isinstance(minor, int) and major > 0:
        row["compute_capability"] = f"{major}.{minor}"
        if "sm_count" in row and "max_clock_hz" in row:
            peak = peak_fp32((major, minor), row["sm_count"], row["max_clock_hz"])
            if peak is not None:
                row["peak_fp32_flops"], row["peak_fp32_derivation"] = peak
    return row


@dataclass
class DeviceReader:
    """Reads the device planes of one host.

    Attributes:
        rank: Rank of the host.
        process_id: The process that profiled.
        device_ids: device_id by kind and ordinal of the host's devices.
        batches: Takes the rows.
        log: Takes what was skipped.
        host: Name of the host.
    """

    rank: int
    process_id: int
    device_ids: dict[tuple[str, int], int]
    batches: RowBatches
    log: CaptureLog
    host: str | None = None
    _contexts: set[tuple[int, int]] = field(default_factory=set)

    def read_line(
        self, plane: Plane, line: Line, device: tuple[str, int], origin_ns: int
    ) -> Iterator[Batch]:
        """Read a line of a device plane, and yield the batches that are complete."""
        if line.name == _COUNTERS:
            for event in plane.events(line, origin_ns):
                self._counters(event, self.device_ids[device])
                yield from self.batches.full()
            return
        stream_id = self.stream(device, line.line_id, line.name)
        if stream_id is None:
            self.skip(line.name, len(line.raw.events))
            return
        is_overhead = line.name == _OVERHEAD_LINE
        for event in plane.events(line, origin_ns):
            if is_overhead and _is_bare(event):
                self._overhead(event)
            else:
                self.read(event, device, stream_id)
            yield from self.batches.full()

    def stream(
        self, device: tuple[str, int], line_id: int, line_name: str
    ) -> int | None:
        """Return the stream that a line is, or None for one that is no stream."""
        found = _STREAM.match(line_name)
        if device[0] == "GPU" and found is not None:
            stream_id = int(found[1])
        elif device[0] == "GPU" and line_name == _OVERHEAD_LINE:
            # A stream with a single event of overhead has this name too.
            stream_id = line_id
            if line_id == _NO_STREAM:
                return stream_id
        elif device[0] == "TPU" and line_name == _TPU_OPS:
            stream_id = line_id
        else:
            return None
        self._add(
            "stream",
            {"process_id": self.process_id, "stream_id": stream_id, "name": line_name},
        )
        return stream_id

    def skip(self, line_name: str, events: int) -> None:
        """Count events of a line that is no stream."""
        self.log.skip(
            f"events of the line {line_name or 'without a name'}",
            "derived by the profiler from other lines, or no work of the device",
            events,
        )

    def read(self, event: Event, device: tuple[str, int], stream_id: int) -> None:
        """Read an event of a stream."""
        if event.start_ps is None:
            self.log.skip("events without a time", "added up by the profiler")
        else:
            self._read(event, self.device_ids[device], stream_id)

    def _read(self, event: Event, device_id: int, stream_id: int) -> None:
        stats = event.stats
        common = self._common(event, device_id, stream_id)
        name = event.name
        if (text := event.text("memcpy_details")) is not None or (
            name.startswith("Memcpy") and "kernel_details" not in stats
        ):
            self._copy(name, text or "", common)
        elif (text := event.text("Memset_details")) is not None or name == "Memset":
            self._add("memset", {**common, **memory_details(text or "")})
        elif (text := event.text("memalloc_details")) is not None:
            self._allocation("allocate", text, common)
        elif (text := event.text("MemFree_details")) is not None:
            self._allocation("free", text, common)
        elif "kernel_details" not in stats and "cuda_graph_exec_id" in stats:
            graph = {"graph_exec_id": event.number("cuda_graph_exec_id")}
            self._add("graph_launch", {**common, **graph})
        elif "kernel_details" not in stats and name in _OVERHEAD:
            self._overhead(event)
        elif "kernel_details" not in stats and (
            name in _NO_WORK or "MemoryResidency_details" in stats
        ):
            self.log.skip(f"{name} events", "no work of the GPU")
        else:
            self._kernel(event, common)

    def _overhead(self, event: Event) -> None:
        self._add(
            "overhead",
            {
                "process_id": self.process_id,
                "correlation_id": event.number("correlation_id"),
                "kind": event.name.lower() or None,
                "start_ns": event.start_ns,
                "end_ns": event.end_ns,
            },
        )

    def _counters(self, event: Event, device_id: int) -> None:
        for metric, value in event.stats.items():
            if isinstance(value, int | float):
                row = {
                    "host": self.host,
                    "source": "gpu",
                    "device_id": device_id,
                    "time_ns": event.start_ns,
                    "metric": metric,
                    "value": float(value),
                }
                self.batches.add("counter_sample", HOST_RANK, row)

    def _common(self, event: Event, device_id: int, stream_id: int) -> dict[str, Any]:
        context = event.number("context_id")
        if context is not None and (device_id, context) not in self._contexts:
            self._contexts.add((device_id, context))
            self._add(
                "context",
                {
                    "process_id": self.process_id,
                    "context_id": context,
                    "device_id": device_id,
                },
            )
        graph, node = event.number("cuda_graph_id"), event.number("cuda_graph_node_id")
        return {
            "process_id": self.process_id,
            "device_id": device_id,
            "context_id": context,
            "stream_id": stream_id,
            "correlation_id": event.number("correlation_id"),
            "graph_id": graph,
            "graph_node_id": None if node is None else signed64(node),
            "start_ns": event.start_ns,
            "end_ns": event.end_ns,
        }

    def _kernel(self, event: Event, common: dict[str, Any]) -> None:
        details = kernel_details(event.text("kernel_details") or "")
        percent = event.stats.get("theoretical_occupancy_pct")
        operator = event.text("tf_op")
        if operator is not None and operator.startswith(_XLA_MODULE):
            operator = None
        row: dict[str, Any] = {
            **common,
            **details,
            **_kernel_names(event.name),
            "operator_name": operator or event.text("name"),
            "hlo_op": event.text("hlo_op"),
            "hlo_module": event.text("hlo_module"),
        }
        if row.get("occupancy_ratio") is None:
            row["occupancy_ratio"] = occupancy(percent)
        self._add("kernel", row)

    def _copy(self, name: str, text: str, common: dict[str, Any]) -> None:
        row = {**common, **copy_details(name, text)}
        if row["copy_kind"] == "PtoP":
            row["source_device_id"] = common["device_id"]
            target = copy_destination(text)
            if target is not None:
                row["destination_device_id"] = self.device_ids.get(("GPU", target))
        self._add("memcpy", row)

    def _allocation(self, kind: str, text: str, common: dict[str, Any]) -> None:
        row = {**common, **memory_details(text)}
        row.update(kind=kind, allocator="cuda", time_ns=common["start_ns"])
        self._add("memory_event", row)

    def _add(self, table: str, row: dict[str, Any]) -> None:
        self.batches.add(table, self.rank, row)


@lru_cache(maxsize=65_536)
def _kernel_names(name: str) -> dict[str, str | None]:
    symbol = _DESCRIPTOR.sub("", name)
    mangled = symbol if symbol.startswith("_Z") else None
    canonical = demangle(symbol) if mangled else normal_form(symbol)
    return {
        "name": name or None,
        "mangled_name": mangled,
        "canonical_name": canonical or None,
        "short_name": base_name(canonical) or None,
    }


def _is_bare(event: Event) -> bool:
    """Tell whether an event lacks what describes work of the GPU."""
    return not any(name in event.stats for name in ("kernel_details", *_DETAILS))
