"""PyTorch: the memory timeline that the profiler exports with `.raw.json.gz`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.errors import UnreadableTraceError
from tracekit.schema import TABLES

_CHUNK = 8 << 20
_LONGEST_EVENT = 1 << 20
_PROCESS = 0
_BIGGEST = 2**63
# 2001-09-09 in ns since 1970: a clock that is beyond it counts from 1970.
_SINCE_1970 = 10**18

# `_CATEGORY_TO_INDEX` of torch/profiler/_memory_profiler.py: the profiler's word and
# the class of the schema.
_CLASSES = (
    ("PARAMETER", "weights"),
    ("OPTIMIZER_STATE", "dynamic"),
    ("INPUT", "input"),
    ("TEMPORARY", "temporaries"),
    ("ACTIVATION", "feature_maps"),
    ("GRADIENT", "weight_gradients"),
    ("AUTOGRAD_DETAIL", "activation_gradients"),
    (None, "unknown"),
)
_PREEXISTING, _CREATE, _INCREMENT_VERSION, _DESTROY = _ACTIONS = (1, 2, 3, 4)

_RAW = re.compile(rb"\s*\[\s*\[\s*-?\d+\s*,\s*[1-4]\s*,\s*-?\d+\s*,\s*[0-7]\s*\]")
_SUMMED = re.compile(rb"\s*\[\s*\[\s*-?\d{9,}\s*[,\]]")
_PLOT = re.compile(
    rb"(?i)\s*<html>.{0,200}<title>GPU Memory Timeline HTML</title>", re.S
)
_LOOKED_AT = 4096
_ITEM = re.compile(rb"\[[^\[\]]*\]|[^\s\[\],]+")

_Event = tuple[int, int, int, int]
_DECODER = msgspec.json.Decoder(list[_Event])
_ONE = msgspec.json.Decoder(_Event)

_MADE = frozenset(
    {"memory_event", "process", "device", "thread", "context", "stream", "run_fact"}
    | {"clock", "rejected", "diagnostic"}
)
_NOT_MEMORY = "a memory timeline holds allocations and releases and nothing else"


class TorchMemoryTimelineReader:
    """Reads `[timestamp, action, bytes, category]` of `export_memory_timeline`."""

    name: ClassVar[str] = "torch-memory-timeline"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file begins as one of the three forms of the export does."""
        start = _start(capture)
        return any(form.match(start) for form in (_RAW, _SUMMED, _PLOT))

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        start = _start(capture)
        if _RAW.match(start) is None:
            form = "plotted" if _PLOT.match(start) else "summed"
            raise UnreadableTraceError(
                f"{reading.name} is the {form} form of a memory timeline, which holds "
                "no allocations",
                hint="export it raw: profiler.export_memory_timeline("
                '"rank-0.raw.json.gz", device="cuda:0")',
            )
        log = reading.log
        found = rank_in_name(reading.name)
        rank = found or 0
        log.ranks[rank] = RankFacts("none" if found is None else "name")
        batches = RowBatches(reading)
        batches.add("process", rank, {"process_id": _PROCESS})
        timeline = _Timeline(log)
        for events in _events(capture, log):
            for row in timeline.rows(events):
                batches.add("memory_event", rank, row)
            yield from batches.full()
        yield from batches.rest()
        began = timeline.began_ns
        if began is not None and began > _SINCE_1970:
            log.start_utc_ns = began
            log.ranks[rank].origin_utc_ns = 0
        for table in TABLES.keys() - _MADE:
            log.absent[table] = _NOT_MEMORY


class _Timeline:
    """Follows what is allocated, and turns events into rows."""

    def __init__(self, log: CaptureLog) -> None:
        self.began_ns: int | None = None
        self._log = log
        self._allocated = 0
        self._waiting: list[_Event] = []
        self._left: _Event | None = None

    def rows(self, events: list[_Event]) -> Iterator[dict[str, Any]]:
        """Yield rows of `memory_event`."""
        if self.began_ns is None:
            times = [time for time, *_ in events if time >= 0]
            self.began_ns = min(times, default=None)
        for event in events:
            yield from self._rows_of(event)

    def _rows_of(self, event: _Event) -> list[dict[str, Any]]:
        time, action, size, category = event
        if (
            action not in _ACTIONS
            or not 0 <= category < len(_CLASSES)
            or not -_BIGGEST < size < _BIGGEST
            or not -1 <= time < _BIGGEST
        ):
            self._log.skip("memory event", "a number that means nothing here")
            return []
        if action == _INCREMENT_VERSION:
            return self._change(event)
        if action == _DESTROY:
            self._allocated -= abs(size)
            return [self._filled("free", event)]
        self._allocated += abs(size)
        return [self._filled("held" if action == _PREEXISTING else "allocate", event)]

    def _change(self, event: _Event) -> list[dict[str, Any]]:
        """Pair what a tensor was with what a write made of it."""
        if event[2] < 0 or self._left is None:
            self._left = event
            return []
        left, self._left = self._left, None
        if left[3] == event[3]:
            self._log.skip("memory event", "a write that leaves the class as it is")
            return []
        return [self._filled("class_out", left), self._filled("class_in", event)]

    def _filled(self, kind: str, event: _Event) -> dict[str, Any]:
        time, _, size, category = event
        word, memory_class = _CLASSES[category]
        return {
            "process_id": _PROCESS,
            "time_ns": self.began_ns if time < 0 else time,
            "kind": kind,
            "bytes": abs(size),
            "allocator": "torch",
            "memory_class": memory_class,
            "tag": word,
            "total_allocated_bytes": self._allocated,
        }


def _start(capture: Path) -> bytes:
    if not capture.is_file():
        return b""
    with capture.open("rb") as file:
        return file.read(_LOOKED_AT)


def _events(capture: Path, log: CaptureLog) -> Iterator[list[_Event]]:
    """Yield the events, a chunk at a time; what is none is counted."""
    with capture.open("rb") as file:
        text = file.read(_CHUNK).lstrip().removeprefix(b"[")
        while True:
            chunk = file.read(_CHUNK)
            if not chunk:
                break
            text += chunk
            cut = text.rfind(b"],")
            if cut >= 0:
                yield _decoded(text[: cut + 1], log)
                text = text[cut + 2 :]
            elif len(text) > _LONGEST_EVENT:
                log.skip("memory event", "longer than 1 MiB of JSON")
                text = b""
    text = text.rstrip()
    if text.endswith(b"]]") or re.search(rb"\]\s*\]$", text[-64:]):
        text = text[:-1]
    elif text.strip() not in (b"", b"]"):
        log.repair("file", "the list of events is not closed: cut short")
    yield _decoded(text, log)


def _decoded(text: bytes, log: CaptureLog) -> list[_Event]:
    try:
        return _DECODER.decode(b"[" + text.strip(b", \t\r\n") + b"]")
    except (msgspec.DecodeError, RecursionError):
        events = []
        for item in _ITEM.findall(text):
            try:
                events.append(_ONE.decode(item))
            except (msgspec.DecodeError, RecursionError):
                log.skip("memory event", "it is no event")
        return events
