"""Hand-made XSpace files, by names instead of numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.convert.xplane.xspace_pb2 import (
    XEventMetadata,
    XLine,
    XPlane,
    XSpace,
    XStat,
    XStatMetadata,
)

Stats = Mapping[str, int | float | str]


@dataclass
class PlaneOf:
    """A plane that grows; names get their numbers as they come."""

    name: str
    stats: Stats = field(default_factory=dict)
    _plane: XPlane = field(default_factory=XPlane)
    _lines: list[XLine] = field(default_factory=list)

    def line(self, name: str, timestamp_ns: int = 0, line_id: int = 1) -> None:
        """Begin a line; the events that follow are on it."""
        self._lines.append(
            XLine(id=line_id, name=name.encode(), timestamp_ns=timestamp_ns)
        )

    def event(
        self,
        name: str | bytes,
        offset_ps: int,
        duration_ps: int,
        stats: Stats | None = None,
    ) -> None:
        """Add an event to the last line."""
        raw = name if isinstance(name, bytes) else name.encode()
        known = self._plane.event_metadata
        number = next((k for k, v in known.items() if v.name == raw), len(known) + 1)
        known[number].CopyFrom(XEventMetadata(id=number, name=raw))
        self._lines[-1].events.add(
            metadata_id=number,
            offset_ps=offset_ps,
            duration_ps=duration_ps,
            stats=[self._stat(key, value) for key, value in (stats or {}).items()],
        )

    @property
    def last(self) -> XLine:
        """The last line."""
        return self._lines[-1]

    def packed(self) -> bytes:
        """Return the plane as it stands in a file."""
        self._plane.name = self.name.encode()
        del self._plane.lines[:]
        del self._plane.stats[:]
        self._plane.lines.extend(line.SerializeToString() for line in self._lines)
        self._plane.stats.extend(self._stat(k, v) for k, v in self.stats.items())
        return self._plane.SerializeToString()

    def _stat(self, name: str, value: float | str) -> XStat:
        number = self._named(name)
        if isinstance(value, str):
            # Text goes by reference, as XLA writes most of it.
            return XStat(metadata_id=number, ref_value=self._named(value))
        if isinstance(value, float):
            return XStat(metadata_id=number, double_value=value)
        if value < 0:
            return XStat(metadata_id=number, int64_value=value)
        return XStat(metadata_id=number, uint64_value=value)

    def _named(self, name: str) -> int:
        known = self._plane.stat_metadata
        raw = name.encode()
        number = next((k for k, v in known.items() if v.name == raw), len(known) + 1)
        known[number].CopyFrom(XStatMetadata(id=number, name=raw))
        return number


def environment(start_ns: int) -> PlaneOf:
    """Return the plane that says when the profile began."""
    return PlaneOf("Task Environment", {"profile_start_time": start_ns})


def write_xspace(path: Path, *planes: PlaneOf, host: str = "node7") -> Path:
    """Write planes as a file."""
    space = XSpace(planes=[p.packed() for p in planes], hostnames=[host.encode()])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space.SerializeToString())
    return path
