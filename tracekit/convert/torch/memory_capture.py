"""What `tracekit collect --memory` recorded of a PyTorch process, and what it means.

The file has each allocation and release, and what the process saw of its storages:
addresses at times, each with a class. A block has the class that was seen at its
address while it was allocated; of several the first in the order of `_CLASSES`. Where
nothing of a block was seen, the operator, the node of the backward pass, the step of
the optimizer and the layer around its allocation, and its lifetime, allow a class,
which is labeled so.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tracekit.errors import UnreadableTraceError

MARK = b'{"format":"tracekit torch memory",'
# In the order of the file's numbers, which is that of precedence: a batch that is
# saved for the backward pass is a batch.
_CLASSES = ("weights", "dynamic", "weight_gradients", "input", "feature_maps")
_INTEGERS = ("int", "long", "uint", "bool")
# The profiler's clock and the program's agree to this.
_SLACK_NS = 20_000


class _Device(msgspec.Struct):
    ordinal: int
    name: str | None = None
    uuid: str | None = None
    memory_bytes: int | None = None
    max_allocated: int | None = None
    max_reserved: int | None = None


class _Events(msgspec.Struct):
    time_ns: list[int]
    device: list[int]
    address: list[int]
    bytes: list[int]
    allocated: list[int]
    reserved: list[int]
    operator: list[int | None]
    operator_end_ns: list[int | None]
    phase: list[str | None]
    phase_end_ns: list[int | None]


class _Seen(msgspec.Struct):
    time_ns: list[int]
    device: list[int]
    address: list[int]
    what: list[int] = msgspec.field(name="class")
    layer: list[int | None]
    tag: list[str | None]
    shape: list[list[int] | None]
    type: list[str | None]


class Capture(msgspec.Struct):
    """The file; see `docs/formats/torch-memory.md`."""

    version: int
    torch: str
    pid: int
    start_ns: int
    end_ns: int
    rank: int | None
    cleared_ns: int | None
    devices: list[_Device]
    layers: list[str]
    modules: list[tuple[int, int, int, int]]
    phases: list[tuple[str, int, int]]
    steps: list[tuple[int, int]]
    used: list[tuple[int, int, int]]
    operators: list[str]
    events: _Events
    seen: _Seen


@dataclass(slots=True)
class Block:
    """An allocation: the place of its event and of its release in the capture.

    Attributes:
        start: Place of the allocation among the events.
        end: Place of the release, or None.
        found: The best of what was seen of it: its place among what was seen.
        memory_class: What it holds.
        source: `storage`, `inferred`, or None where the class is unknown.
        layer: Number of its layer, or None.
    """

    start: int
    end: int | None = None
    found: int | None = None
    memory_class: str = "unknown"
    source: str | None = None
    layer: int | None = None


def read_capture(path: Path, name: str) -> Capture:
    """Read a file.

    Raises:
        UnreadableTraceError: It is damaged, or of a later version.
    """
    try:
        capture = msgspec.json.decode(path.read_bytes(), type=Capture)
    except msgspec.MsgspecError as error:
        raise UnreadableTraceError(
            f"{name} is no complete memory capture: {error}",
            hint="collect it again: tracekit collect --memory -- CMD",
        ) from error
    if capture.version != 1:
        raise UnreadableTraceError(
            f"{name} is a memory capture of version {capture.version}; 1 is known",
            hint="use the tracekit that collected it",
        )
    for part in (capture.events, capture.seen):
        columns = [getattr(part, field) for field in part.__struct_fields__]
        if len({len(column) for column in columns}) > 1:
            raise UnreadableTraceError(
                f"{name} is damaged: its columns have different lengths",
                hint="collect it again: tracekit collect --memory -- CMD",
            )
    return capture


def blocks_of(capture: Capture) -> list[Block]:
    """Return the blocks in the order of their allocation, with their classes."""
    events = capture.events
    blocks: list[Block] = []
    alive: dict[tuple[int, int], Block] = {}
    at_address: dict[tuple[int, int], list[Block]] = defaultdict(list)
    for place, size in enumerate(events.bytes):
        key = (events.device[place], events.address[place])
        if size > 0:
            block = Block(place)
            blocks.append(block)
            alive[key] = block
            at_address[key].append(block)
        else:
            ended = alive.pop(key, None)
            if ended is not None:
                ended.end = place
    _find(capture, at_address)
    infer = _Inference(capture)
    for block in blocks:
        if block.found is not None:
            block.memory_class = infer.class_of_seen(block, block.found)
            block.source = "storage"
            block.layer = capture.seen.layer[block.found]
        else:
            block.memory_class = infer.class_of(block)
            block.source = None if block.memory_class == "unknown" else "inferred"
        if block.layer is None:
            block.layer = infer.layer_at(events.time_ns[block.start])
    return blocks


def _find(capture: Capture, at_address: dict[tuple[int, int], list[Block]]) -> None:
    """Give each block the first in rank, and then in time, of what was seen of it."""
    events, seen = capture.events, capture.seen
    starts = {
        key: [events.time_ns[block.start] for block in blocks]
        for key, blocks in at_address.items()
    }
    for place, time in enumerate(seen.time_ns):
        key = (seen.device[place], seen.address[place])
        if not 0 <= seen.what[place] < len(_CLASSES) or key not in starts:
            continue
        number = bisect_right(starts[key], time + _SLACK_NS) - 1
        # The clocks differ a little: of two blocks around the time it is the one that
        # was allocated then.
        while number > 0 and starts[key][number] > time:
            number -= 1
        if number < 0:
            continue
        block = at_address[key][number]
        if block.end is not None and events.time_ns[block.end] + _SLACK_NS < time:
            continue
        if block.found is None or _order(seen, place) < _order(seen, block.found):
            block.found = place


def _order(seen: _Seen, place: int) -> tuple[int, bool]:
    """Rank what was seen: by class, and what names a layer before what does not."""
    return seen.what[place], seen.layer[place] is None


class _Inference:
    """Tells a class from what ran when a block was allocated and freed."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._last_step = capture.steps[-1][0] if capture.steps else capture.start_ns
        self._layers = _innermost(capture.modules)
        self._passes = _passes(capture.modules)
        self._layer_starts = [start for start, _ in self._layers]
        self._phases = {
            kind: sorted(
                (start, end) for found, start, end in capture.phases if found == kind
            )
            for kind in ("backward", "communication", "optimizer")
        }

    def class_of(self, block: Block) -> str:
        events, capture = self._capture.events, self._capture
        start = events.time_ns[block.start]
        end = None if block.end is None else events.time_ns[block.end]
        # Some went when the workspace of cuBLAS was given back.
        cleared = capture.cleared_ns
        if end is not None and cleared is not None and end >= cleared:
            return "workspace"
        phase, phase_end = self._phase(block)
        operator_end = events.operator_end_ns[block.start]
        if end is not None and operator_end is not None and end <= operator_end:
            return "workspace"
        if end is not None and phase_end is not None and end <= phase_end:
            return "temporaries"
        buckets = _during(self._phases["communication"], start)
        if buckets is not None:
            return "communication"
        if phase == "backward":
            whole = _during(self._phases["backward"], start)
            inside = whole is None or (end is not None and end <= whole + _SLACK_NS)
            return "activation_gradients" if inside and end is not None else "unknown"
        if phase == "optimizer":
            return "dynamic"
        if end is not None:
            return "temporaries"
        # What a program still holds of its last step, such as the loss.
        return "temporaries" if start >= self._last_step else "unknown"

    def class_of_seen(self, block: Block, found: int) -> str:
        """Return the class that was seen.

        Labels and tokens are saved for the backward pass as feature maps are; they are
        integers, and were there before the model ran.
        """
        events, seen = self._capture.events, self._capture.seen
        name = _CLASSES[seen.what[found]]
        start = events.time_ns[block.start]
        if name != "feature_maps" or not (seen.type[found] or "").startswith(_INTEGERS):
            return name
        place = bisect_right(self._passes, seen.time_ns[found]) - 1
        before = place >= 0 and start < self._passes[place]
        return "input" if before and self.layer_at(start) is None else name

    def layer_at(self, time: int) -> int | None:
        """Return the layer that ran last before, if it still ran."""
        place = bisect_right(self._layer_starts, time) - 1
        return self._layers[place][1] if place >= 0 else None

    def _phase(self, block: Block) -> tuple[str | None, int | None]:
        events = self._capture.events
        phase = events.phase[block.start]
        if phase is not None:
            return phase, events.phase_end_ns[block.start]
        start = events.time_ns[block.start]
        for kind in ("optimizer", "backward"):
            end = _during(self._phases[kind], start)
            if end is not None:
                return kind, end if kind == "optimizer" else None
        return None, None


def _during(spans: Sequence[tuple[int, int]], time: int) -> int | None:
    """Return the end of the span that holds a time, or None."""
    place = bisect_left(spans, (time + 1,)) - 1
    if place < 0 or spans[place][1] < time:
        return None
    return spans[place][1]


def _innermost(
    modules: Sequence[tuple[int, int, int, int]],
) -> list[tuple[int, int | None]]:
    """Return from which time on which layer is the innermost, or None."""
    changes: list[tuple[int, int | None]] = []
    stack: list[tuple[int, int]] = []
    for layer, start, end, _ in sorted(modules, key=lambda m: (m[1], -m[2])):
        while stack and stack[-1][1] <= start:
            ended = stack.pop()[1]
            changes.append((ended, stack[-1][0] if stack else None))
        stack.append((layer, end))
        changes.append((start, layer))
    while stack:
        ended = stack.pop()[1]
        changes.append((ended, stack[-1][0] if stack else None))
    return changes


def _passes(modules: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """Return when a module began that ran in no other one."""
    starts: list[int] = []
    latest = -1
    for _, start, end, _ in sorted(modules, key=lambda m: (m[1], -m[2])):
        if start >= latest:
            starts.append(start)
            latest = end
    return starts


def rows_of_events(
    capture: Capture, blocks: Sequence[Block], devices: dict[int, int]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `memory_event`, in order."""
    events, seen = capture.events, capture.seen
    owner: dict[int, Block] = {}
    for block in blocks:
        owner[block.start] = block
        if block.end is not None:
            owner[block.end] = block
    for place, size in enumerate(events.bytes):
        is_host = events.device[place] < 0
        row: dict[str, Any] = {
            "process_id": 0,
            "device_id": devices.get(events.device[place]),
            "time_ns": events.time_ns[place],
            "kind": "allocate" if size > 0 else "free",
            "address": events.address[place],
            "bytes": abs(size),
            "allocator": "torch",
            "memory_kind": "pageable" if is_host else "device",
            "total_allocated_bytes": None if is_host else events.allocated[place],
            "total_reserved_bytes": None if is_host else events.reserved[place],
        }
        block_of = owner.get(place)
        if block_of is not None:
            row["memory_class"] = block_of.memory_class
            row["class_source"] = block_of.source
            row["layer"] = _named(capture.layers, block_of.layer)
            if block_of.found is not None:
                shape = seen.shape[block_of.found]
                row["tag"] = seen.tag[block_of.found]
                row["shape"] = None if shape is None else _json(shape)
                row["data_type"] = seen.type[block_of.found]
            else:
                row["tag"] = _named(capture.operators, events.operator[block_of.start])
        yield row


def _json(shape: list[int]) -> str:
    return "[" + ",".join(str(size) for size in shape) + "]"


def _named(names: Sequence[str], number: int | None) -> str | None:
    if number is None or not 0 <= number < len(names):
        return None
    return names[number]
