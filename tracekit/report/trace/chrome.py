"""Chrome's trace events: JSON, for small traces.

Times are microseconds with three decimals after the first event, which is in
`otherData.origin_ns`: a double holds no nanoseconds of a clock that counts from 1970.
"""

from collections.abc import Mapping, Sequence
from typing import IO

import msgspec

from tracekit.report.cells import visible
from tracekit.report.trace.sink import Group, Value

_GPU_PIDS = 1_000_000_000


class ChromeTrace:
    """Writes the JSON of Chrome's trace viewer, which Perfetto opens too.

    Args:
        target: Where to write.
        origin_ns: What the times count from.
    """

    def __init__(self, target: IO[bytes], *, origin_ns: int) -> None:
        self._target = target
        self._origin_ns = origin_ns
        self._pids: dict[Group, int] = {}
        # Track number: pid, tid.
        self._places: list[tuple[int, int]] = []
        self._names: list[str] = []
        self._first = True
        head = {"origin_ns": str(origin_ns)}
        target.write(
            b'{"displayTimeUnit":"ns","otherData":'
            + msgspec.json.encode(head)
            + b',"traceEvents":['
        )

    def track(self, group: Group, name: str) -> int:
        """Return the number of a new track in a group."""
        owner = group if group.parent is None else group.parent
        pid = self._pid(owner)
        label = name if group is owner else f"{group.name}: {name}"
        tid = len(self._places) + 1
        self._places.append((pid, tid))
        self._names.append(label)
        self._metadata("thread_name", pid, tid, {"name": visible(label)})
        self._metadata("thread_sort_index", pid, tid, {"sort_index": tid})
        return tid - 1

    def slice(
        self,
        track: int,
        name: str,
        start_ns: int,
        end_ns: int,
        *,
        kind: str,
        arguments: Mapping[str, Value],
        leads_to: Sequence[int] = (),
        comes_from: int | None = None,
    ) -> None:
        """Write a slice; see `TraceSink`."""
        pid, tid = self._places[track]
        at = self._time(start_ns)
        self._event(
            {
                "ph": "X",
                "pid": pid,
                "tid": tid,
                "ts": at,
                "dur": _micro(end_ns - start_ns),
                "name": visible(name),
                "cat": kind,
                "args": arguments,
            }
        )
        arrow = {"pid": pid, "tid": tid, "ts": at, "name": "launch", "cat": "launch"}
        for number in leads_to:
            self._event({**arrow, "ph": "s", "id": str(number)})
        if comes_from is not None:
            self._event({**arrow, "ph": "f", "bp": "e", "id": str(comes_from)})

    def instant(
        self,
        track: int,
        name: str,
        time_ns: int,
        *,
        kind: str,
        arguments: Mapping[str, Value],
    ) -> None:
        """Write something that took no time."""
        pid, tid = self._places[track]
        self._event(
            {
                "ph": "i",
                "s": "t",
                "pid": pid,
                "tid": tid,
                "ts": self._time(time_ns),
                "name": visible(name),
                "cat": kind,
                "args": arguments,
            }
        )

    def counter_track(self, group: Group, name: str, unit: str | None) -> int:
        """Return the number of a new track of values."""
        pid = self._pid(group if group.parent is None else group.parent)
        self._places.append((pid, 0))
        self._names.append(f"{name} ({unit})" if unit else name)
        return len(self._places) - 1

    def counter(self, track: int, time_ns: int, value: float) -> None:
        """Write a value."""
        pid, _ = self._places[track]
        self._event(
            {
                "ph": "C",
                "pid": pid,
                "ts": self._time(time_ns),
                "name": visible(self._names[track]),
                "args": {"value": value},
            }
        )

    def close(self) -> None:
        """Write the end."""
        self._target.write(b"\n]}\n")

    def _pid(self, group: Group) -> int:
        if group not in self._pids:
            pid = group.pid
            if pid is None:
                pid = _GPU_PIDS + len(self._pids)
            self._pids[group] = pid
            self._metadata("process_name", pid, 0, {"name": visible(group.name)})
            order = {"sort_index": group.order}
            self._metadata("process_sort_index", pid, 0, order)
        return self._pids[group]

    def _metadata(
        self, name: str, pid: int, tid: int, arguments: Mapping[str, Value]
    ) -> None:
        self._event(
            {"ph": "M", "pid": pid, "tid": tid, "name": name, "args": arguments}
        )

    def _event(self, event: Mapping[str, object]) -> None:
        self._target.write(b"\n" if self._first else b",\n")
        self._first = False
        self._target.write(msgspec.json.encode(event))

    def _time(self, ns: int) -> msgspec.Raw:
        return _micro(ns - self._origin_ns)


def _micro(ns: int) -> msgspec.Raw:
    """Return nanoseconds as microseconds, exactly."""
    whole, rest = divmod(abs(ns), 1000)
    sign = "-" if ns < 0 else ""
    return msgspec.Raw(f"{sign}{whole}.{rest:03d}".encode())
