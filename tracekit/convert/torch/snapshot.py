"""The content of a PyTorch memory snapshot, whichever version wrote it.

Sources: `torch.cuda.memory._snapshot` and `memory_snapshot` of PyTorch 1.x to 2.x.
PyTorch 1.x gave a list of segments; 2.0 added `device_traces`, without times; later
ones added times, `allocator_settings` and `external_annotations`. Blocks had no
address before 2.1, and a `history` where they now have `requested_size` and `frames`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracekit.convert.readers.base import CaptureLog
from tracekit.errors import UnreadableTraceError

_BITS = 64
_US_TO_NS = 1000
_ALLOCATED = "active_allocated"
# Freed, and not given out again before other streams are done with it.
_PENDING = ("active_pending_free", "active_awaiting_free")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a segment when the snapshot was taken.

    Attributes:
        address: Its first byte.
        bytes: Its size.
        requested_bytes: What was asked for, where that is recorded.
        is_allocated: Whether somebody holds it; False for one that is free, or
            becomes free when other streams are done with it.
        frames: The recorded stack of its allocation, innermost first.
    """

    address: int
    bytes: int
    requested_bytes: int | None
    is_allocated: bool
    frames: list[Any] | None


@dataclass(frozen=True, slots=True)
class Segment:
    """Memory that the allocator had reserved when the snapshot was taken."""

    address: int
    bytes: int
    stream: int | None
    allocated_bytes: int | None
    blocks: list[Block]


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that the allocator did.

    Attributes:
        action: alloc, free_requested, segment_map, ...
        address: First byte of what it was done to.
        bytes: The size, as it was asked for.
        stream: Handle of the CUDA stream.
        time_ns: When, in UTC.
        frames: The recorded stack, innermost first.
        tag: What the program said of itself at that time.
    """

    action: str
    address: int
    bytes: int
    stream: int | None
    time_ns: int | None
    frames: list[Any] | None
    tag: str | None


@dataclass(frozen=True, slots=True)
class Mark:
    """The start or end of a range that the profiler saw."""

    is_start: bool
    name: str
    device: int | None
    time_ns: int


@dataclass
class Snapshot:
    """A memory snapshot; segments and history by the ordinal of the device."""

    segments: dict[int, list[Segment]] = field(default_factory=dict)
    traces: dict[int, list[Entry]] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    has_history: bool = False


def parse_snapshot(
    content: object, name: str, file_bytes: int, log: CaptureLog
) -> Snapshot:
    """Return the snapshot that plain data describes.

    Args:
        content: What the pickle holds.
        name: What the user calls the file.
        file_bytes: Size of the file: it cannot describe more things than that.
        log: Counts what is no segment, block or event.

    Raises:
        UnreadableTraceError: It is no memory snapshot.
    """
    if isinstance(content, list):
        content = {"segments": content}
    if not isinstance(content, dict) or not isinstance(content.get("segments"), list):
        raise UnreadableTraceError(
            f"{name} is a pickle, but no memory snapshot of PyTorch: it has no list of "
            "segments"
        )
    parser = _Parser(name, file_bytes, log)
    snapshot = Snapshot()
    for device, segment in parser.segments(content["segments"]):
        snapshot.segments.setdefault(device, []).append(segment)
    traces = content.get("device_traces")
    if isinstance(traces, list):
        for device, trace in enumerate(traces):
            entries = list(parser.entries(trace))
            if entries:
                snapshot.traces[device] = entries
    snapshot.has_history = bool(snapshot.traces)
    if content["segments"] and not snapshot.segments and not snapshot.traces:
        raise UnreadableTraceError(
            f"{name} is a pickle, but no memory snapshot of PyTorch: its list holds no "
            "segments"
        )
    snapshot.marks = list(parser.marks(content.get("external_annotations")))
    settings = content.get("allocator_settings")
    if isinstance(settings, dict):
        snapshot.settings = {
            key: value for key, value in settings.items() if isinstance(key, str)
        }
    return snapshot


class _Parser:
    def __init__(self, name: str, file_bytes: int, log: CaptureLog) -> None:
        self._name = name
        self._left = file_bytes
        self._log = log

    def segments(self, found: list[Any]) -> Iterator[tuple[int, Segment]]:
        for raw in self._dicts(found, "segment"):
            address, size = _bits(raw.get("address")), _size(raw.get("total_size"))
            if address is None or size is None:
                self._log.skip("segment", "it has no address or no size")
                continue
            device = _size(raw.get("device"))
            yield (
                0 if device is None else device,
                Segment(
                    address=address,
                    bytes=size,
                    stream=_signed(raw.get("stream")),
                    allocated_bytes=_size(raw.get("allocated_size")),
                    blocks=list(self._blocks(raw.get("blocks"), address)),
                ),
            )

    def _blocks(self, found: object, address: int) -> Iterator[Block]:
        behind: int = address
        for raw in self._dicts(found, "block"):
            size = _size(raw.get("size"))
            if size is None:
                self._log.skip("block", "it has no size")
                continue
            stated = _bits(raw.get("address"))
            begin = behind if stated is None else stated
            behind = begin + size
            state = raw.get("state")
            if state != _ALLOCATED and state not in _PENDING:
                continue
            history = raw.get("history")
            old = history[0] if isinstance(history, list) and history else None
            said = raw if not isinstance(old, dict) else {**old, **raw}
            requested = _size(said.get("requested_size"))
            if requested is None:
                requested = _size(said.get("real_size"))
            yield Block(
                begin, size, requested, state == _ALLOCATED, _list(said.get("frames"))
            )

    def entries(self, found: object) -> Iterator[Entry]:
        for raw in self._dicts(found, "event"):
            action, size = raw.get("action"), _size(raw.get("size"))
            # Of a refused request the free memory stands where others have an address.
            address = _bits(raw.get("addr", 0))
            if not isinstance(action, str) or size is None or address is None:
                self._log.skip("event", "it has no action, address or size")
                continue
            tag = raw.get("user_metadata")
            yield Entry(
                action=action,
                address=address,
                bytes=size,
                stream=_signed(raw.get("stream")),
                time_ns=_time(raw.get("time_us")),
                frames=_list(raw.get("frames")),
                tag=tag if isinstance(tag, str) and tag else None,
            )

    def marks(self, found: object) -> Iterator[Mark]:
        for raw in self._dicts(found, "annotation"):
            stage, name = raw.get("stage"), raw.get("name")
            time = _time(raw.get("time_us"))
            if stage not in ("START", "END") or time is None:
                self._log.skip("annotation", "it has no stage or no time")
                continue
            text = name if isinstance(name, str) else ""
            yield Mark(stage == "START", text, _size(raw.get("device")), time)

    def _dicts(self, found: object, what: str) -> Iterator[Mapping[str, Any]]:
        if not isinstance(found, list):
            return
        self._left -= len(found)
        if self._left < 0:
            # Lists that hold each other multiply: no memory is worth that.
            raise UnreadableTraceError(
                f"{self._name} is refused: its lists are referred to more often than "
                "the file could spell out"
            )
        for raw in found:
            if isinstance(raw, dict):
                yield raw
            else:
                self._log.skip(what, "it is no record")


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _bits(value: object) -> int | None:
    number = _integer(value)
    return number if number is not None and 0 <= number < 1 << _BITS else None


def _signed(value: object) -> int | None:
    number = _bits(value)
    return None if number is None else as_signed(number)


def _size(value: object) -> int | None:
    number = _integer(value)
    return number if number is not None and 0 <= number < 1 << 62 else None


def _time(value: object) -> int | None:
    number = _integer(value)
    if number is None or not 0 < number < (1 << 63) // _US_TO_NS:
        return None
    return number * _US_TO_NS


def _list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) and value else None


def as_signed(number: int) -> int:
    """Return the bits of an unsigned number of 64 bits as a signed one."""
    number &= (1 << _BITS) - 1
    return number - (1 << _BITS) if number >> (_BITS - 1) else number
