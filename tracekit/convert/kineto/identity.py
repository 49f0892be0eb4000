"""Processes, threads, devices and streams of a trace, numbered as they are met."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from tracekit.convert.kineto.columns import integers, zeros
from tracekit.convert.kineto.events import Event, GpuArgs

# The trace is of one process; work on a GPU does not name it.
PROFILED = 0
Id = int | str | None


class _Threads(dict[tuple[Id, Id], int]):
    """Makes a number for each (pid, tid)."""

    def __missing__(self, key: tuple[Id, Id]) -> int:
        number = self[key] = len(self)
        return number


class Identity:
    """Numbers for what events refer to.

    The first process of the host that is met is the profiled one, process_id 0; a
    device is an ordinal of that process.
    """

    def __init__(self) -> None:
        self._threads = _Threads()
        self._pids: dict[int, int] = {}
        self._devices: dict[int, int] = {}
        self._places: dict[tuple[int, int | None, int | None], None] = {}
        self.process_names: dict[int, str] = {}
        self.thread_names: dict[tuple[int, int], str] = {}

    def host(self, events: Sequence[Event]) -> dict[str, pa.Array]:
        """Return the columns process_id and thread_id of events of the host."""
        threads = self._threads
        known = len(threads)
        numbers = [threads[event.pid, event.tid] for event in events]
        if len(threads) > known:
            for pid, _ in list(threads)[known:]:
                self.process(pid)
        thread_ids = integers(numbers, pa.int32())
        if len(self._pids) <= 1:
            process_ids = zeros(len(events))
        else:
            process_ids = integers(
                [self.process(event.pid) for event in events], pa.int32()
            )
        return {"process_id": process_ids, "thread_id": thread_ids}

    def process(self, pid: Id) -> int:
        """Return the process_id of a pid as the trace writes it."""
        number = as_integer(pid)
        if number is None or number <= 0:
            return PROFILED
        return self._pids.setdefault(number, len(self._pids))

    def is_host(self, pid: Id) -> bool:
        """Tell whether a pid was met among the events of the host."""
        return as_integer(pid) in self._pids

    def thread(self, pid: Id, tid: Id) -> int:
        """Return the thread_id of a thread as the trace writes it."""
        self.process(pid)
        return self._threads[pid, tid]

    def device(self, ordinal: int | None) -> int | None:
        """Return the device_id of an ordinal."""
        if ordinal is None or not -(2**31) <= ordinal < 2**31:
            return None
        return self._devices.setdefault(ordinal, len(self._devices))

    def devices(self, ordinals: Iterable[int | None]) -> pa.Array:
        """Return the column device_id for ordinals."""
        known: dict[int | None, int | None] = {None: None}
        found = list(ordinals)
        for ordinal in dict.fromkeys(found):
            known[ordinal] = self.device(ordinal)
        return integers([known[ordinal] for ordinal in found], pa.int32())

    def gpu(self, events: Sequence[Event], args: Sequence[GpuArgs]) -> dict[str, Any]:
        """Return the columns that all work on a GPU has.

        Where `args` name no device or stream, the pid and the tid are these.
        """
        ordinals: list[int | None] = [found.device for found in args]
        streams: list[int | None] = [found.stream for found in args]
        if None in ordinals or None in streams:
            for index, event in enumerate(events):
                if ordinals[index] is None:
                    ordinals[index] = as_integer(event.pid)
                if streams[index] is None:
                    streams[index] = as_integer(event.tid)
        contexts = [found.context for found in args]
        for place in set(zip(ordinals, contexts, streams, strict=True)):
            if place[0] is not None:
                self._places.setdefault((place[0], place[1], place[2]))
        # 0 is how some versions for AMD write that it is not known.
        correlations = [found.correlation or None for found in args]
        return {
            "process_id": zeros(len(args)),
            "device_id": self.devices(ordinals),
            "context_id": integers(contexts),
            "stream_id": integers(streams),
            "correlation_id": integers(correlations),
        }

    def process_rows(self, host: str | None) -> list[dict[str, Any]]:
        """Return the rows of `process`."""
        rows = [
            {
                "process_id": number,
                "os_pid": pid,
                "host": host,
                "name": self.process_names.get(pid),
            }
            for pid, number in self._pids.items()
        ]
        return rows or [{"process_id": PROFILED, "host": host}]

    def thread_rows(self) -> list[dict[str, Any]]:
        """Return the rows of `thread`."""
        rows = []
        for (pid, tid), number in self._threads.items():
            os_pid, os_tid = as_integer(pid), as_integer(tid)
            name = None
            if os_pid is not None and os_tid is not None:
                name = self.thread_names.get((os_pid, os_tid))
            if name is None and isinstance(tid, str) and os_tid is None:
                name = tid
            rows.append(
                {
                    "thread_id": number,
                    "process_id": self.process(pid),
                    "os_tid": os_tid or None,
                    "name": name,
                }
            )
        return rows

    def ordinals(self) -> dict[int, int]:
        """Return the device_id of each ordinal that was met."""
        return dict(self._devices)

    def context_rows(self) -> list[dict[str, Any]]:
        """Return the rows of `context`."""
        seen = {
            (ordinal, context): None
            for ordinal, context, _ in self._places
            if context is not None
        }
        return [
            {
                "process_id": PROFILED,
                "context_id": context,
                "device_id": self.device(ordinal),
                "cuda_ordinal": ordinal,
            }
            for ordinal, context in seen
        ]

    def stream_rows(self) -> list[dict[str, Any]]:
        """Return the rows of `stream`."""
        seen = {
            (context, stream): None
            for _, context, stream in self._places
            if stream is not None
        }
        return [
            {"process_id": PROFILED, "context_id": context, "stream_id": stream}
            for context, stream in seen
        ]


def as_integer(value: Id) -> int | None:
    """Return a number, also one written as text: `"1234"`, `"stream 7"`."""
    if isinstance(value, int):
        return value
    if value is None:
        return None
    digits = value.removeprefix("stream ").strip()
    signless = digits.removeprefix("-")
    return int(digits) if signless.isascii() and signless.isdecimal() else None
