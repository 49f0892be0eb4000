"""What the categories share: the rank, the numbering, the log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.kineto.columns import nanoseconds
from tracekit.convert.kineto.events import Args, Event, decode_args
from tracekit.convert.kineto.identity import Identity
from tracekit.convert.readers.base import CaptureLog

_A = TypeVar("_A", bound=Args)


@dataclass
class Context:
    """The state of reading one trace.

    Attributes:
        rank: The rank that the rows belong to.
        tables: The tables that are wanted.
        log: Counts what was mended and what was skipped.
        identity: Numbers of processes, threads and devices.
    """

    rank: int
    tables: frozenset[str]
    log: CaptureLog
    identity: Identity = field(default_factory=Identity)

    def args(self, kind: type[_A], events: Sequence[Event]) -> list[_A]:
        """Decode the args of events of one category."""
        return decode_args(kind, events, self.note)

    def times(self, texts: Sequence[msgspec.Raw]) -> pa.Array:
        """Return times in nanoseconds."""
        found, mended = nanoseconds(texts)
        if mended:
            self.log.repair("time", "no number: read as not recorded", mended)
        return found

    def interval(self, events: Sequence[Event]) -> dict[str, pa.Array]:
        """Return the columns start_ns and end_ns."""
        start = self.times([event.ts for event in events])
        duration = self.times([event.dur for event in events])
        return {"start_ns": start, "end_ns": pc.add(start, duration)}

    def note(self, name: str) -> None:
        """Count a value of an event that was left out or mended."""
        self.log.repair("event", f"`{name}` is not as it should be: mended or left out")
