"""Reads the detail file of CNTK's profiler: an array, sorted by the ends."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracekit.convert.paired_events import Pair, Pairing
from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, RankFacts, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.convert.trace_events import picoseconds, read_events

Id = int | str | None
_Key = tuple[Id, Id, str]
# One iteration of training, in the words of CNTK.
_ITERATION = "_Minibatch Iteration"
_ABSENT = dict.fromkeys(
    ("kernel", "memcpy", "memset", "api_call", "operator", "memory_event"),
    "CNTK profiles minibatches, nothing inside of them",
)


def read_trace(capture: Path, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of a detail file; see `Reader.read`."""
    yield from _Trace(reading).read(capture)


class _Trace:
    def __init__(self, reading: Reading) -> None:
        self._log = reading.log
        self._batches = RowBatches(reading)
        rank = rank_in_name(reading.name)
        self._rank = rank or 0
        source = "none" if rank is None else "file_name"
        self._log.ranks[self._rank] = RankFacts(source)
        self._processes: dict[Id, int] = {}
        self._threads: dict[tuple[Id, Id], int] = {}
        self._pairs: Pairing[_Key] = Pairing()
        self._steps: dict[int, int] = {}

    def read(self, capture: Path) -> Iterator[Batch]:
        for event in read_events(capture, self._log):
            key = (event.pid, event.tid, event.name or "")
            time = picoseconds(event.ts)
            if event.ph == "B":
                self._pairs.begin(key, time)
            elif event.ph == "E":
                pair = self._pairs.end(key, time)
                if pair is None:
                    self._log.skip("event", "an end without a beginning")
                else:
                    self._pair(key, pair)
            else:
                self._log.skip(f"event of the kind {event.ph[:8]}", "of no use here")
            yield from self._batches.full()
        for key, pair in self._pairs.left():
            self._pair(key, pair)
        self._log.absent.update(_ABSENT)
        yield from self._batches.rest()

    def _pair(self, key: _Key, pair: Pair) -> None:
        pid, tid, name = key
        process_id = self._process(pid)
        row: dict[str, Any] = {
            "process_id": process_id,
            "thread_id": self._thread(pid, tid),
            "start_ns": _ns(pair.start_ps),
            "end_ns": _ns(pair.end_ps),
        }
        text = {"kind": "push_pop", "domain": "cntk", "text": name or None}
        self._add("annotation", {**row, **text})
        if name == _ITERATION:
            # The ends rise in the file, so the iterations come in their order.
            index = self._steps.get(process_id, 0)
            self._steps[process_id] = index + 1
            step = {"step_index": index, "name": name, "source": "profiler"}
            self._add("step", {**row, **step})

    def _process(self, pid: Id) -> int:
        found = self._processes.get(pid)
        if found is None:
            found = self._processes[pid] = len(self._processes)
            os_pid = pid if isinstance(pid, int) else None
            self._add("process", {"process_id": found, "os_pid": os_pid})
        return found

    def _thread(self, pid: Id, tid: Id) -> int:
        found = self._threads.get((pid, tid))
        if found is None:
            found = self._threads[pid, tid] = len(self._threads)
            row = {
                "thread_id": found,
                "process_id": self._process(pid),
                "os_tid": tid if isinstance(tid, int) else None,
            }
            self._add("thread", row)
        return found

    def _add(self, table: str, row: dict[str, Any]) -> None:
        self._batches.add(table, self._rank, row)


def _ns(time_ps: int | None) -> int | None:
    return None if time_ps is None else time_ps // 1000
