"""Reads a Chrome trace of TensorFlow: names first, then events."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.convert.kineto.events import Event as JsonEvent
from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.convert.tensorflow_trace.timeline import TimelineReader, is_timeline
from tracekit.convert.trace_events import arguments, picoseconds, read_events
from tracekit.convert.xplane.devices import DeviceReader
from tracekit.convert.xplane.host import HostReader
from tracekit.convert.xplane.space import Event
from tracekit.schema import HOST_RANK

Id = int | str | None
_DEVICE = re.compile(r"/(?:device:)?(GPU|TPU|gpu):(\d{1,9})\b")
_HOST = re.compile(r"/host:(?:CPU|CUPTI|ROCTRACER|python-tracer|NVTX-CUPTI)\b")
_SINCE_1970_PS = 10**20
_ABSENT = dict.fromkeys(
    ("kernel", "memcpy", "memset", "api_call", "operator", "step", "memory_event"),
    "the trace holds no such event",
)
_KINDS = {
    "B": "begins and ends in two events",
    "E": "begins and ends in two events",
    "C": "a counter",
    "s": "an arrow",
    "t": "an arrow",
    "f": "an arrow",
    "N": "a tensor, as it was made",
    "O": "a tensor, as it was made",
    "D": "a tensor, as it was made",
}


@dataclass
class _Names:
    """What the metadata events name."""

    processes: dict[Id, str] = field(default_factory=dict)
    threads: dict[tuple[Id, Id], str] = field(default_factory=dict)

    def note(self, event: JsonEvent) -> None:
        name = arguments(event).get("name")
        if isinstance(name, str):
            if event.name == "process_name":
                self.processes[event.pid] = name
            elif event.name == "thread_name":
                self.threads[event.pid, event.tid] = name


def read_trace(capture: Path, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of a trace; see `Reader.read`."""
    names = _Names()
    # What is mended is counted when the events themselves are read.
    for event in read_events(capture, CaptureLog()):
        if event.ph == "M":
            names.note(event)
    yield from _Trace(reading, names).read(capture)


class _Trace:
    def __init__(self, reading: Reading, names: _Names) -> None:
        self._log = reading.log
        self._batches = RowBatches(reading)
        self._names = names
        rank = rank_in_name(reading.name)
        self._rank = rank or 0
        self._facts = RankFacts("none" if rank is None else "file_name")
        self._log.ranks[self._rank] = self._facts
        self._devices: dict[tuple[str, int], int] = {}
        self._threads: dict[tuple[Id, Id], int] = {}
        self._streams: dict[tuple[Id, Id], int | None] = {}
        self._absolute: set[bool] = set()

    def read(self, capture: Path) -> Iterator[Batch]:
        for name in self._names.processes.values():
            found = _DEVICE.search(name)
            if found is not None:
                self._device(found[1].upper(), int(found[2]))
        self._batches.add("process", self._rank, {"process_id": 0})
        yield from self._batches.rest()
        parts = (self._rank, 0, self._devices, self._batches, self._log)
        devices, threads = DeviceReader(*parts), HostReader(*parts, 0)
        timeline = TimelineReader(*parts, self._names.processes)
        for event in read_events(capture, self._log):
            if event.ph not in ("X", "i", "I"):
                self._skip(event)
                continue
            process = self._names.processes.get(event.pid, "")
            if is_timeline(process):
                read = self._event(event)
                if read is not None:
                    timeline.read(read, process)
            elif (found := _DEVICE.search(process)) is not None:
                device = (found[1].upper(), int(found[2]))
                self._on_device(event, device, devices)
            elif _HOST.search(process) or not process:
                self._on_host(event, threads)
            else:
                self._log.skip(f"events of {process}", "not read")
            yield from self._batches.full()
        threads.finish()
        if self._absolute == {True}:
            self._facts.origin_utc_ns = 0
        self._log.absent.update(_ABSENT)
        yield from self._batches.rest()

    def _device(self, kind: str, ordinal: int) -> None:
        if (kind, ordinal) not in self._devices:
            device_id = self._devices[kind, ordinal] = len(self._devices)
            self._batches.add("device", HOST_RANK, {"device_id": device_id})

    def _on_device(
        self, event: JsonEvent, device: tuple[str, int], devices: DeviceReader
    ) -> None:
        key = (event.pid, event.tid)
        line = self._names.threads.get(key, "")
        if key not in self._streams:
            self._streams[key] = devices.stream(device, _number(event.tid), line)
        stream_id = self._streams[key]
        if stream_id is None:
            devices.skip(line, 1)
            return
        read = self._event(event)
        if read is not None:
            devices.read(read, device, stream_id)

    def _on_host(self, event: JsonEvent, threads: HostReader) -> None:
        key = (event.pid, event.tid)
        if key not in self._threads:
            name = self._names.threads.get(key, "")
            number = _number(event.tid)
            self._threads[key] = threads.thread(number, name, of=event.pid)
        read = self._event(event)
        if read is not None:
            threads.read(read, self._threads[key])

    def _event(self, event: JsonEvent) -> Event | None:
        """Return an event as XPlane has it, None for one without a time."""
        start = picoseconds(event.ts)
        length = picoseconds(event.dur) if event.ph == "X" else 0
        if start is None or length is None:
            self._log.skip("event", "without a time")
            return None
        self._absolute.add(start >= _SINCE_1970_PS)
        stats: dict[str, Any] = {
            key: value
            for key, value in arguments(event).items()
            if isinstance(value, int | float | str)
        }
        name = event.name or ""
        long_name = stats.pop("long_name", None)
        if isinstance(long_name, str) and long_name.endswith(f":{name}"):
            name = long_name
        return Event(name, "", start, start + length, stats)

    def _skip(self, event: JsonEvent) -> None:
        if event.ph == "M":
            return
        if not event.ph and event.name is None:
            self._log.skip("event", "an empty object, as TensorFlow ends its list")
        else:
            reason = _KINDS.get(event.ph, "of a kind that is not known")
            self._log.skip(f"event of the kind {event.ph[:8]}", reason)


def _number(value: Id) -> int:
    """Return the number of a thread; text is a number of no thread of the system."""
    if isinstance(value, int):
        return value
    return -1 - zlib.crc32((value or "").encode())
