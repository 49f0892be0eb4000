"""Reads the trace of MXNet's profiler: names first, then events."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.convert.kineto.events import Event
from tracekit.convert.paired_events import Pair, Pairing
from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.convert.trace_events import arguments, picoseconds, read_events
from tracekit.schema import HOST_RANK

Id = int | str | None
_Key = tuple[str, str, str, Id, Id]
_OPERATOR = "operator"
_API = "MXNET_C_API"
_STORAGE = "Device Storage"
_MARKER = ",instant_marker"
_GPU = re.compile(r"gpu/(\d{1,9})")
_MEMORY = "Memory: "
_SINCE_1970_PS = 10**20
_MARKS = frozenset("iIn")
_LARGEST = 1 << 64
_ABSENT = {
    "kernel": "MXNet's profiler records no kernels",
    "memcpy": "MXNet's profiler records no copies",
    "memset": "MXNet's profiler records no fills",
    "api_call": "MXNet's profiler records no calls of CUDA",
    "memory_event": "MXNet's profiler records memory in use, not allocations",
    "operator": "the capture holds no operators",
    "step": "no tasks or marks with a number were found",
}


@dataclass
class _Names:
    """What has to be known before the first event is read."""

    processes: dict[Id, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    paired_operators: bool = False

    def note(self, event: Event) -> None:
        if event.ph == "M":
            name = arguments(event).get("name")
            if event.name == "process_name" and isinstance(name, str):
                self.processes[event.pid] = name
            return
        if event.ph == "B" and event.cat == _OPERATOR:
            self.paired_operators = True
        if event.ph == "C" and event.name is not None:
            self.used.add(event.name.removeprefix(_MEMORY))
        else:
            self.used.add(self.processes.get(event.pid, ""))


def read_trace(capture: Path, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of a trace; see `Reader.read`."""
    names = _Names()
    # What is mended is counted when the events themselves are read.
    for event in read_events(capture, CaptureLog()):
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
        self._threads: dict[Id, int] = {}
        self._pairs: Pairing[_Key] = Pairing()
        self._first_ps: int | None = None
        gpus = sorted(int(m[1]) for m in map(_GPU.fullmatch, names.used) if m)
        self._devices = {gpu: device_id for device_id, gpu in enumerate(gpus)}

    def read(self, capture: Path) -> Iterator[Batch]:
        for device_id in self._devices.values():
            self._batches.add("device", HOST_RANK, {"device_id": device_id})
        self._add("process", {"process_id": 0})
        yield from self._batches.rest()
        for event in read_events(capture, self._log):
            self._read(event)
            yield from self._batches.full()
        for key, pair in self._pairs.left():
            self._pair(key, pair)
        if self._first_ps is not None and self._first_ps >= _SINCE_1970_PS:
            self._facts.origin_utc_ns = 0
            self._log.start_utc_ns = self._first_ps // 1000
        self._log.absent.update(_ABSENT)
        yield from self._batches.rest()

    def _read(self, event: Event) -> None:
        kind = event.ph
        if kind == "M":
            return
        time = picoseconds(event.ts)
        if time is not None:
            self._first_ps = min(time, self._first_ps or time)
        key = (kind.lower(), event.cat or "", event.name or "", event.pid, event.tid)
        if kind in ("b", "e") and self._is_double(event):
            self._log.skip(
                f"operator events of the kind {kind}", "each is there as B and E too"
            )
        elif kind in ("B", "b"):
            self._pairs.begin((kind, *key[1:]), time)
        elif kind in ("E", "e"):
            begun = ("B" if kind == "E" else "b", *key[1:])
            pair = self._pairs.end(begun, time)
            if pair is None:
                self._log.skip("event", "an end without a beginning")
            else:
                self._pair(begun, pair)
        elif kind == "X":
            length = picoseconds(event.dur)
            end = None if time is None or length is None else time + length
            self._pair(("X", *key[1:]), Pair(time, end))
        elif kind == "C":
            self._counter(event, time)
        elif kind in _MARKS:
            self._mark(event, time)
        else:
            self._log.skip(f"event of the kind {kind[:8]}", "of no use here")

    def _is_double(self, event: Event) -> bool:
        return event.cat == _OPERATOR and self._names.paired_operators

    def _pair(self, key: _Key, pair: Pair) -> None:
        _, category, name, pid, tid = key
        row: dict[str, Any] = {
            "process_id": 0,
            "thread_id": self._thread(tid),
            "start_ns": _ns(pair.start_ps),
            "end_ns": _ns(pair.end_ps),
            "name": name or None,
        }
        if category == _OPERATOR:
            gpu = _GPU.fullmatch(self._names.processes.get(pid, ""))
            row["device_id"] = self._devices.get(int(gpu[1])) if gpu else None
            self._add("operator", row)
        elif category == _API:
            self._add("library_call", {**row, "library": "mxnet"})
        else:
            row.update(kind="start_end", domain=category or None, text=name or None)
            self._add("annotation", row)

    def _mark(self, event: Event, time_ps: int | None) -> None:
        self._add(
            "annotation",
            {
                "process_id": 0,
                "thread_id": self._thread(event.tid),
                "kind": "mark",
                "domain": (event.cat or "").removesuffix(_MARKER) or None,
                "text": event.name,
                "start_ns": _ns(time_ps),
            },
        )

    def _counter(self, event: Event, time_ps: int | None) -> None:
        for name, value in arguments(event).items():
            if not isinstance(value, int | float) or abs(value) > _LARGEST:
                self._log.skip("counter", "its value is no number of 64 bits")
                continue
            is_memory = event.cat == _STORAGE and name.startswith(_MEMORY)
            place = name.removeprefix(_MEMORY) if is_memory else None
            gpu = _GPU.fullmatch(place or "")
            row = {
                "source": "mxnet",
                "instance": place if is_memory else event.cat,
                "device_id": self._devices.get(int(gpu[1])) if gpu else None,
                "time_ns": _ns(time_ps),
                "metric": "memory in use" if is_memory else name,
                "unit": "B" if is_memory else None,
                "value": float(value),
            }
            self._batches.add("counter_sample", HOST_RANK, row)

    def _thread(self, tid: Id) -> int:
        found = self._threads.get(tid)
        if found is None:
            found = self._threads[tid] = len(self._threads)
            # What MXNet writes is a hash of the thread, not its number.
            self._add("thread", {"thread_id": found, "process_id": 0})
        return found

    def _add(self, table: str, row: dict[str, Any]) -> None:
        self._batches.add(table, self._rank, row)


def _ns(time_ps: int | None) -> int | None:
    return None if time_ps is None else time_ps // 1000
