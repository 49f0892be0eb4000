"""The planes of a host: API calls, operators, steps, allocations, Python, the rest."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tracekit.convert.names import api_name
from tracekit.convert.readers.base import Batch, CaptureLog
from tracekit.convert.row_batches import RowBatches, signed64
from tracekit.convert.xplane.space import Event, Line, Plane

HOST_PLANES = frozenset(
    {
        "/host:CPU",
        "/host:CUPTI",
        "/host:ROCTRACER",
        "/host:NVTX-CUPTI",
        "/host:python-tracer",
    }
)
# Process ids of Linux fit 22 bits; longer line ids are hashes or addresses.
_LARGEST_TID = 1 << 22
_NOISE = "ThreadpoolListener::"
_OPERATOR = re.compile(r"(?s)([A-Za-z0-9.][A-Za-z0-9_.\\/>-]*):([A-Z_][A-Za-z0-9_]*)")
_RUNTIME = re.compile(r"(?:cuda|hip)[A-Z]")
_DRIVER = re.compile(
    r"cu(?:Launch|Mem|Stream|Event|Ctx|Device|Graph|Func|Module|Init|Occupancy|Pointer"
    r"|Kernel|Library)\w*"
)
_GRAPH_SUFFIX = re.compile(r" \(CudaGraph:\d+\)\Z")
_NVTX = "NVTX:"
_GPU_ALLOCATOR = re.compile(r"GPU_(\d{1,9})_")
_MEMORY = {"MemoryAllocation": "allocate", "MemoryDeallocation": "free"}
# DataType of tensorflow/core/framework/types.proto; 0 is "invalid".
_DATA_TYPES = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    11: "qint8",
    12: "quint8",
    13: "qint32",
    14: "bfloat16",
    15: "qint16",
    16: "quint16",
    17: "uint16",
    18: "complex128",
    19: "float16",
    20: "resource",
    21: "variant",
    22: "uint32",
    23: "uint64",
    24: "float8_e5m2",
    25: "float8_e4m3fn",
    29: "int4",
    30: "uint4",
}


@dataclass
class HostReader:
    """Reads the host planes of one host.

    Attributes:
        rank: Rank of the host.
        process_id: The process that profiled.
        device_ids: device_id by kind and ordinal of the host's devices.
        batches: Takes the rows.
        log: Takes what was skipped.
        first_thread: The number of the first thread.
    """

    rank: int
    process_id: int
    device_ids: dict[tuple[str, int], int]
    batches: RowBatches
    log: CaptureLog
    first_thread: int
    _threads: dict[tuple[int | str | None, int], int] = field(default_factory=dict)
    _steps: list[dict[str, Any]] = field(default_factory=list)
    _produced: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _consumed: list[tuple[tuple[int, int], int, int]] = field(default_factory=list)

    @property
    def next_thread(self) -> int:
        """The number of the first thread of the next host."""
        return self.first_thread + len(self._threads)

    def read_line(self, plane: Plane, line: Line, origin_ns: int) -> Iterator[Batch]:
        """Read a thread of a host plane, and yield the batches that are complete."""
        thread_id = self.thread(line.line_id, line.name)
        for event in plane.events(line, origin_ns):
            self.read(event, thread_id)
            yield from self.batches.full()

    def read(self, event: Event, thread_id: int) -> None:
        """Read an event of a thread."""
        if event.start_ps is None:
            self.log.skip("events without a time", "added up by the profiler")
        elif event.name.startswith(_NOISE) and event.start_ps == event.end_ps:
            self.log.skip(
                f"{_NOISE}* events",
                "notes of the thread pool on its own work, without a length",
            )
        else:
            self._read(event, thread_id)

    def thread(self, line_id: int, name: str, of: int | str | None = None) -> int:
        """Return the thread_id of a line; planes of one host share their threads.

        Args:
            line_id: Number of the line.
            name: Its name.
            of: What tells it from a line of the same number that is another thread.
        """
        found = self._threads.get((of, line_id))
        if found is None:
            found = self.first_thread + len(self._threads)
            self._threads[of, line_id] = found
            self._add(
                "thread",
                {
                    "thread_id": found,
                    "process_id": self.process_id,
                    "os_tid": line_id if 0 < line_id <= _LARGEST_TID else None,
                    "name": name or None,
                },
            )
        return found

    def finish(self) -> None:
        """Write the steps and links, which only the whole host shows."""
        end = None
        rooted = [step for step in self._steps if step.pop("is_root")]
        # A step that runs inside of another is a part of it, not one more.
        for step in sorted(
            rooted or self._steps, key=lambda s: (s["start_ns"], -s["end_ns"])
        ):
            if end is not None and step["start_ns"] < end:
                self.log.skip("step markers", "inside of another step")
                continue
            end = step["end_ns"]
            self._add("step", step)
        for key, thread_id, start_ns in self._consumed:
            producer = self._produced.get(key)
            if producer is not None:
                self._add(
                    "flow",
                    {
                        "flow_id": signed64(key[1]),
                        "kind": "producer_consumer",
                        "process_id": self.process_id,
                        "thread_id": producer[0],
                        "start_ns": producer[1],
                        "end_process_id": self.process_id,
                        "end_thread_id": thread_id,
                        "end_ns": start_ns,
                    },
                )

    def _read(self, event: Event, thread_id: int) -> None:
        name = event.name
        common = {
            "process_id": self.process_id,
            "thread_id": thread_id,
            "start_ns": event.start_ns,
            "end_ns": event.end_ns,
        }
        if "_p" in event.stats or "_c" in event.stats:
            self._link(event, thread_id)
        operator = _OPERATOR.fullmatch(name) if ":" in name else None
        if name in _MEMORY:
            self._memory(event, common)
        elif name.startswith(_NVTX):
            text = name.removeprefix(_NVTX)
            self._annotation(text, event, common)
        elif "correlation_id" in event.stats or _is_api(name):
            function = _GRAPH_SUFFIX.sub("", name)
            self._add(
                "api_call",
                {
                    **common,
                    "domain": "runtime" if _RUNTIME.match(function) else "driver",
                    "name": api_name(function),
                    "correlation_id": event.number("correlation_id"),
                },
            )
        elif name.startswith("$"):
            self._add("python_function", {**common, "name": name[1:]})
        elif operator is not None:
            self._add("operator", {**common, "name": operator[2], "scope": operator[1]})
        else:
            self._annotation(name, event, common)
            self._step(event, common)

    def _annotation(self, text: str, event: Event, common: dict[str, Any]) -> None:
        # What begins with an underscore, and group_id, the profiler added itself.
        values = {
            key: value
            for key, value in event.stats.items()
            if not key.startswith("_") and key != "group_id" and _is_json(value)
        }
        payload = json.dumps(values, ensure_ascii=False) if values else None
        row = {**common, "kind": "push_pop", "text": text or None, "payload": payload}
        self._add("annotation", row)

    def _step(self, event: Event, common: dict[str, Any]) -> None:
        number = event.number("step_num")
        if number is None:
            return
        self._steps.append(
            {
                "step_index": number,
                "process_id": self.process_id,
                "name": event.name or None,
                "start_ns": common["start_ns"],
                "end_ns": common["end_ns"],
                "source": "annotation",
                "is_root": event.stats.get("_r") == 1,
            }
        )

    def _memory(self, event: Event, common: dict[str, Any]) -> None:
        allocator = event.text("allocator_name")
        gpu = _GPU_ALLOCATOR.match(allocator or "")
        address = event.number("addr")
        self._add(
            "memory_event",
            {
                **common,
                "device_id": self.device_ids.get(("GPU", int(gpu[1]))) if gpu else None,
                "time_ns": common["start_ns"],
                "kind": _MEMORY[event.name],
                "address": None if address is None else signed64(address),
                "bytes": event.number("allocation_bytes"),
                "requested_bytes": event.number("requested_bytes"),
                "allocator": allocator,
                "memory_kind": "device" if gpu else None,
                "tag": event.text("tf_op"),
                "region": event.text("region_type"),
                "data_type": _DATA_TYPES.get(event.number("data_type") or 0),
                "shape": self._shape(event.text("shape")),
                "total_allocated_bytes": event.number("bytes_allocated"),
                "total_reserved_bytes": event.number("bytes_reserved"),
            },
        )

    def _shape(self, text: str | None) -> str | None:
        """Return a shape such as `[8,32]` as canonical JSON."""
        if text is None:
            return None
        sizes = text.strip("[] ").split(",") if text.strip("[] ") else []
        # An unknown size is written `?`.
        if not all(size.strip().lstrip("-").isdecimal() for size in sizes):
            self.log.skip("shapes of tensors", "they hold an unknown size")
            return None
        return "[" + ",".join(size.strip() for size in sizes) + "]"

    def _link(self, event: Event, thread_id: int) -> None:
        produced = event.number("_pt"), event.number("_p")
        if produced[0] is not None and produced[1] is not None:
            self._produced[produced[0], produced[1]] = (thread_id, event.start_ns)
        consumed = event.number("_ct"), event.number("_c")
        if consumed[0] is not None and consumed[1] is not None:
            key = (consumed[0], consumed[1])
            self._consumed.append((key, thread_id, event.start_ns))

    def _add(self, table: str, row: dict[str, Any]) -> None:
        self.batches.add(table, self.rank, row)


def _is_api(name: str) -> bool:
    """Tell whether a call without a correlation id is one of CUDA or HIP."""
    return bool(_RUNTIME.match(name) or _DRIVER.fullmatch(_GRAPH_SUFFIX.sub("", name)))


def _is_json(value: int | float | str) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
