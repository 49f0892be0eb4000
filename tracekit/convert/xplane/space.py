"""An XSpace file: planes, one unpacked at a time, and values by their names."""

import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar, cast

from google.protobuf.message import DecodeError, Message

from tracekit.convert.readers.base import CaptureLog
from tracekit.convert.xplane.files import LARGEST_BYTES
from tracekit.convert.xplane.xspace_pb2 import (
    XEvent,
    XLinePacked,
    XPlane,
    XPlaneHead,
    XSpace,
    XStat,
)
from tracekit.errors import UnreadableTraceError

Value = int | float | str
M = TypeVar("M", bound=Message)
_UNKNOWN: tuple[str, str, dict[str, Value]] = ("", "", {})


def text(raw: bytes) -> str:
    """Return text of a file; bytes that are no UTF-8 become replacement characters."""
    return raw.decode("utf-8", "replace")


@dataclass(slots=True)
class Event:
    """An event of a line.

    Attributes:
        name: Its name; empty where the file does not say.
        display_name: The short form, such as the type of an operation.
        start_ps: Its start, in ps; None for one that only counts occurrences.
        end_ps: Its end, in ps.
        stats: Its values by name; those of its name where it has none itself.
    """

    name: str
    display_name: str
    start_ps: int | None
    end_ps: int | None
    stats: dict[str, Value]

    @property
    def start_ns(self) -> int:
        """The start, rounded down."""
        return (self.start_ps or 0) // 1000

    @property
    def end_ns(self) -> int:
        """The end, rounded down by itself: neighbors that touch keep touching."""
        return (self.end_ps or 0) // 1000

    def number(self, name: str) -> int | None:
        """Return a stat that is an integer."""
        value = self.stats.get(name)
        if isinstance(value, int):
            return value
        if isinstance(value, str) and value.removeprefix("$$").isdecimal():
            # Numbers that name something are written as text: `$$1`.
            return int(value.removeprefix("$$")[:20])
        return None

    def text(self, name: str) -> str | None:
        """Return a stat that is text and not empty."""
        value = self.stats.get(name)
        return value if isinstance(value, str) and value else None


@dataclass(frozen=True)
class Head:
    """What a plane says of itself.

    Attributes:
        name: Its name.
        stats: Its values by name.
    """

    name: str
    stats: dict[str, Value]


@dataclass(frozen=True)
class Line:
    """A line of a plane: a thread, a stream, or what was derived from them.

    Attributes:
        line_id: Its number.
        name: Its name.
        timestamp_ns: What its events count from.
        raw: The line, packed.
    """

    line_id: int
    name: str
    timestamp_ns: int
    raw: XLinePacked


class Unpack(Protocol):
    """Unpacks a message, or tells that the file is damaged."""

    def __call__(self, kind: type[M], packed: bytes, /) -> M:
        """Return the message."""
        ...


class Space:
    """A file, held packed; one plane at a time is unpacked.

    Args:
        capture: The file.
        log: Takes repairs.

    Raises:
        UnreadableTraceError: It is cut short, damaged, or larger than 2 GiB.
    """

    def __init__(self, capture: Path, log: CaptureLog) -> None:
        self._name = capture.name
        self._log = log
        if capture.stat().st_size > LARGEST_BYTES:
            raise UnreadableTraceError(
                f"{self._name} is over 2 GiB, more than a protobuf message can be",
                hint="profile fewer steps",
            )
        with (
            capture.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as view,
        ):
            # The runtime takes a memory view; its type stubs know bytes only.
            space = self._unpacked(XSpace, cast("bytes", view))
        self._planes = space.planes
        self.errors = [self._text(error) for error in space.errors]
        self.warnings = [self._text(warning) for warning in space.warnings]
        self.hosts = [self._text(host) for host in space.hostnames if host]

    def heads(self) -> list[Head]:
        """Return what each plane says of itself, in the order of the file."""
        heads = []
        for packed in self._planes:
            head = self._unpacked(XPlaneHead, packed)
            heads.append(Head(self._text(head.name), _values(head, head.stats)))
        return heads

    def plane(self, index: int) -> "Plane":
        """Unpack a plane."""
        plane = self._unpacked(XPlane, self._planes[index])
        return Plane(plane, self._text, self._unpacked)

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self._log.repair("text", "bytes that are no UTF-8 were replaced")
            return text(raw)

    def _unpacked(self, kind: type[M], packed: bytes) -> M:
        try:
            return kind.FromString(packed)
        except DecodeError as error:
            raise UnreadableTraceError(
                f"{self._name} is cut short or damaged: {error}",
                hint="copy it again; a profile that was interrupted cannot be read",
            ) from error


class Plane:
    """A plane: what a device or a host recorded."""

    def __init__(
        self,
        plane: XPlane,
        decode: Callable[[bytes], str],
        unpacked: Unpack,
    ) -> None:
        self._unpacked = unpacked
        self._decode = decode
        self._packed = plane.lines
        names = {key: decode(value.name) for key, value in plane.stat_metadata.items()}
        self._names = names
        self._events = {
            key: (
                decode(value.name),
                decode(value.display_name),
                _named(names, value.stats),
            )
            for key, value in plane.event_metadata.items()
        }

    def lines(self) -> Iterator[Line]:
        """Unpack one line after the other."""
        for packed in self._packed:
            line = self._unpacked(XLinePacked, packed)
            name = self._decode(line.display_name or line.name)
            yield Line(line.id, name, line.timestamp_ns, line)

    def events(self, line: Line, origin_ns: int) -> Iterator[Event]:
        """Yield the events of a line.

        Args:
            line: The line.
            origin_ns: Taken off its time.
        """
        base_ps = (line.timestamp_ns - origin_ns) * 1000
        for packed in line.raw.events:
            event = self._unpacked(XEvent, packed)
            name, display_name, described = self._events.get(
                event.metadata_id, _UNKNOWN
            )
            stats = _named(self._names, event.stats)
            start_ps = base_ps + event.offset_ps
            yield Event(
                name,
                display_name,
                None if event.HasField("num_occurrences") else start_ps,
                start_ps + event.duration_ps,
                {**described, **stats} if described else stats,
            )


def _values(head: XPlaneHead, stats: Iterable[XStat]) -> dict[str, Value]:
    names = {key: text(value.name) for key, value in head.stat_metadata.items()}
    return _named(names, stats)


def _named(names: Mapping[int, str], stats: Iterable[XStat]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for stat in stats:
        kind = stat.WhichOneof("value")
        name = names.get(stat.metadata_id)
        if name is None or kind is None or kind == "bytes_value":
            continue
        value: Value
        if kind == "ref_value":
            value = names.get(stat.ref_value, "")
        elif kind == "str_value":
            value = text(stat.str_value)
        else:
            value = getattr(stat, kind)
        values[name] = value
    return values
