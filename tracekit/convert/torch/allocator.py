"""Plays the history of a caching allocator, from what was left at its end.

The history may begin after the program did, and old events fall out of it. What was
alive when it began follows from what is alive at its end, read backwards: an
allocation undone is no block, a free undone is one.

Source of the sizes: `DeviceCachingAllocator::round_size` of PyTorch. Events tell what
was asked for; a block is that size rounded up, and what is left of a block that is
not worth splitting stays with it. Blocks alive at the end have their true size; a
block that came and went has the rounded one.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit.convert.torch.snapshot import Block, Entry, Segment

_SMALLEST_BLOCK = 512
_MIB = 1 << 20
_INTERVALS = 16
_RESERVE = frozenset({"segment_alloc", "segment_map"})
_RELEASE = frozenset({"segment_free", "segment_unmap"})
# What was done, in the words of the schema.
_KINDS = {
    "alloc": "allocate",
    "free_requested": "free",
    "free_completed": "free_completed",
    "oom": "out_of_memory",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A row of `memory_event`."""

    kind: str
    address: int | None
    bytes: int
    requested_bytes: int | None
    stream: int | None
    time_ns: int | None
    frames: list[Any] | None
    tag: str | None
    allocated_bytes: int
    reserved_bytes: int


@dataclass(frozen=True, slots=True)
class Span:
    """A row of `memory_segment`."""

    address: int
    bytes: int
    stream: int | None
    start_ns: int | None
    end_ns: int | None


class History:
    """What one device's allocator did.

    Args:
        segments: What it had reserved at the end.
        entries: What it did, in order; empty where nothing was recorded.
        divisions: The setting `roundup_power2_divisions`.

    Attributes:
        spans: The reservations; complete once `changes` has ended.
    """

    def __init__(
        self,
        segments: Iterable[Segment],
        entries: list[Entry],
        divisions: Mapping[str, Any] | None = None,
    ) -> None:
        self._entries = entries
        self._divisions = divisions or {}
        self._sizes: list[int] = [0] * len(entries)
        self._unmatched: set[int] = set()
        self.spans: list[Span] = []
        self._reserved = _Reserved()
        self._alive: dict[int, tuple[Block, int | None]] = {}
        self._pending: dict[int, Block] = {}
        for segment in segments:
            self._reserved.add(segment.address, segment.bytes, segment.stream, None)
            for block in segment.blocks:
                if block.is_allocated:
                    self._alive[block.address] = (block, segment.stream)
                else:
                    self._pending[block.address] = block
        self._undo()

    @property
    def unmatched(self) -> int:
        """Events that contradict the end, which enter no total.

        Allocations that are neither alive nor freed, frees of what is alive,
        reservations that are gone.
        """
        return len(self._unmatched)

    def changes(self, began_ns: int | None) -> Iterator[Change]:
        """Yield what was alive when recording began, then each event.

        Args:
            began_ns: When recording began; None where nothing was recorded.
        """
        allocated, reserved = 0, self._reserved.bytes
        for _, (block, stream) in sorted(self._alive.items()):
            allocated += block.bytes
            yield Change(
                "held",
                block.address,
                block.bytes,
                block.requested_bytes,
                stream,
                began_ns,
                block.frames,
                None,
                allocated,
                reserved,
            )
        for index, entry in enumerate(self._entries):
            known = index not in self._unmatched
            if entry.action in _RESERVE | _RELEASE:
                reserved = self._reserve(entry, counts=known)
                continue
            kind = _KINDS.get(entry.action)
            if kind is None:
                continue
            if known and kind == "allocate":
                allocated += self._sizes[index]
            elif known and kind == "free":
                allocated -= self._sizes[index]
            yield Change(
                kind,
                None if kind == "out_of_memory" else entry.address,
                self._sizes[index],
                entry.bytes,
                entry.stream,
                entry.time_ns,
                entry.frames,
                entry.tag,
                allocated,
                reserved,
            )
        self.spans += self._reserved.left()

    def _undo(self) -> None:
        """Take back the events, last first, and note the size of each one's block."""
        freed: dict[int, int] = {}
        for index in range(len(self._entries) - 1, -1, -1):
            entry = self._entries[index]
            address = entry.address
            size = self._rounded(entry.bytes)
            if entry.action == "alloc":
                found = self._alive.pop(address, None)
                if found is None:
                    self._unmatched.add(index)
                else:
                    size = found[0].bytes
            elif entry.action == "free_completed":
                freed[address] = index
            elif entry.action == "free_requested":
                if address in self._pending:
                    size = self._pending.pop(address).bytes
                if address in self._alive:
                    self._unmatched.add(index)
                else:
                    block = Block(
                        address, size, entry.bytes, is_allocated=True, frames=None
                    )
                    self._alive[address] = (block, entry.stream)
                completed = freed.pop(address, None)
                if completed is not None:
                    self._sizes[completed] = size
            elif entry.action in _RESERVE:
                if not self._reserved.take(address, entry.bytes):
                    self._unmatched.add(index)
            elif entry.action in _RELEASE:
                self._reserved.add(address, entry.bytes, entry.stream, None)
            self._sizes[index] = size

    def _reserve(self, entry: Entry, *, counts: bool) -> int:
        if counts and entry.action in _RESERVE:
            self._reserved.add(entry.address, entry.bytes, entry.stream, entry.time_ns)
        elif counts:
            for span in self._reserved.take(entry.address, entry.bytes):
                ended = Span(
                    span.address, span.bytes, span.stream, span.start_ns, entry.time_ns
                )
                self.spans.append(ended)
        return self._reserved.bytes

    def _rounded(self, size: int) -> int:
        """Return the size of the block that a request of `size` bytes gets."""
        if size < _SMALLEST_BLOCK:
            return _SMALLEST_BLOCK
        divisions = self._divisions_for(size)
        if divisions > 1 and size > _SMALLEST_BLOCK * divisions:
            floor = 1 << (size.bit_length() - 1)
            step = floor >> (divisions.bit_length() - 1) or floor
        else:
            step = _SMALLEST_BLOCK
        return -(-size // step) * step

    def _divisions_for(self, size: int) -> int:
        # The setting is by size in MiB, a power of two from 1 to 32768.
        power = size.bit_length() - _MIB.bit_length()
        interval = str(1 << min(max(power, 0), _INTERVALS - 1))
        divisions = self._divisions.get(interval)
        return divisions if isinstance(divisions, int) and divisions > 1 else 0


class _Reserved:
    """Address ranges that are reserved, without overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._spans: list[Span] = []
        self.bytes = 0

    def add(
        self, address: int, size: int, stream: int | None, start_ns: int | None
    ) -> None:
        if not size:
            return
        self.take(address, size)
        self._insert(Span(address, size, stream, start_ns, None))

    def take(self, address: int, size: int) -> list[Span]:
        """Cut a range out and return what was reserved of it."""
        end = address + size
        first = max(bisect_right(self._starts, address) - 1, 0)
        last = first
        while last < len(self._spans) and self._spans[last].address < end:
            last += 1
        touched = self._spans[first:last]
        del self._starts[first:last], self._spans[first:last]
        taken = []
        for span in touched:
            self.bytes -= span.bytes
            behind = span.address + span.bytes
            begin, stop = max(span.address, address), min(behind, end)
            if begin >= stop:
                self._insert(span)
                continue
            taken.append(_part(span, begin, stop))
            if span.address < begin:
                self._insert(_part(span, span.address, begin))
            if stop < behind:
                self._insert(_part(span, stop, behind))
        return taken

    def left(self) -> list[Span]:
        """Return the ranges that are reserved, by address."""
        return list(self._spans)

    def _insert(self, span: Span) -> None:
        place = bisect_right(self._starts, span.address)
        self._starts.insert(place, span.address)
        self._spans.insert(place, span)
        self.bytes += span.bytes


def _part(span: Span, begin: int, end: int) -> Span:
    return Span(begin, end - begin, span.stream, span.start_ns, span.end_ns)
