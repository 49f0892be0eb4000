"""Call stacks that PyTorch records, each written once."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tracekit.convert.nsys.mapping import table_rows
from tracekit.schema import TABLES

_BATCH_FRAMES = 100_000
_HIGHEST_LINE = 2**31


class Stacks:
    """Numbers distinct stacks in the order in which they are met."""

    def __init__(self) -> None:
        self._frames: dict[tuple[str | None, str | None, int | None], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        # The same list stands for many events; it is held so that its id stays its.
        self._seen: dict[int, tuple[list[Any], int]] = {}

    def number(self, frames: list[Any] | None) -> int | None:
        """Return the id of a stack; None for none."""
        if not frames:
            return None
        seen = self._seen.get(id(frames))
        if seen is None:
            stack = tuple(self._frame(f) for f in frames if isinstance(f, dict))
            number = self._stacks.setdefault(stack, len(self._stacks))
            self._seen[id(frames)] = (frames, number)
            return number
        return seen[1]

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield rows of `call_stack`."""
        ids: list[int] = []
        depths: list[int] = []
        frames: list[int] = []
        for stack, number in self._stacks.items():
            ids += [number] * len(stack)
            depths += range(len(stack))
            frames += stack
            if len(ids) >= _BATCH_FRAMES:
                yield self._batch(ids, depths, frames)
                ids, depths, frames = [], [], []
        if ids:
            yield self._batch(ids, depths, frames)

    def _batch(
        self, ids: list[int], depths: list[int], frames: list[int]
    ) -> pa.RecordBatch:
        known = list(self._frames)
        parts = [known[frame] for frame in frames]
        columns = {
            "call_stack_id": pa.array(ids, pa.int64()),
            "depth": pa.array(depths, pa.int32()),
            "symbol": pa.array([p[0] for p in parts], pa.string()).dictionary_encode(),
            "file": pa.array([p[1] for p in parts], pa.string()).dictionary_encode(),
            "line": pa.array([p[2] for p in parts], pa.int32()),
        }
        return table_rows(TABLES["call_stack"], len(ids), columns)

    def _frame(self, frame: dict[Any, Any]) -> int:
        line = frame.get("line")
        is_line = type(line) is int and 0 < line < _HIGHEST_LINE
        key = (
            _text(frame.get("name")),
            _text(frame.get("filename")),
            line if is_line else None,
        )
        return self._frames.setdefault(key, len(self._frames))


def printable(text: str) -> str:
    """Return text without halves of surrogate pairs, which a pickle may hold."""
    return text.encode("utf-8", "replace").decode()


def _text(value: object) -> str | None:
    # `??` is how the unwinder writes that it does not know.
    if not isinstance(value, str) or value in ("", "??"):
        return None
    return printable(value)
