"""The file that a process writes under the native CUPTI collector.

`collectors/cupti/capture_file.cpp` writes it, docs/formats/cupti.md describes it. It
names its own columns, so that a reader needs no list of versions.
"""

import mmap
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tracekit.errors import UnreadableTraceError

MAGIC = b"TKCUPTI1"
SUFFIX = ".cupti"
_BLOCK_MAGIC = 0x314B4C42
HEADER = struct.Struct("<8sQ")
_BLOCK = struct.Struct("<IHHII")
_TEXT = struct.Struct("<II")
_STRINGS = 0
_LONGEST_HEADER = 1 << 20
_TYPES = {"q": (pa.int64(), 8), "u": (pa.uint32(), 4), "i": (pa.int32(), 4)}


class Layout(NamedTuple):
    """The columns of one kind of record, and the bytes that each takes."""

    name: str
    columns: tuple[tuple[str, pa.DataType, int], ...]

    @property
    def row_bytes(self) -> int:
        """The bytes of one record."""
        return sum(width for _, _, width in self.columns)


class Block(NamedTuple):
    """Records of one kind; each column has the type that it was written with."""

    kind: str
    rows: pa.RecordBatch


@dataclass
class CaptureFile:
    """One file, open.

    Attributes:
        name: Its name, for messages.
        facts: What the process said of itself.
        variables: Environment variables of the process, those that are allowed.
        texts: The texts read so far, by number; filled while blocks are read.
        unread: Bytes at the end that are no whole block; known after the last block.
    """

    name: str
    facts: dict[str, str]
    variables: dict[str, str]
    texts: dict[int, str] = field(default_factory=dict)
    unread: int = 0
    _layouts: dict[int, Layout] = field(default_factory=dict)
    _buffer: pa.Buffer | None = None
    _first_block: int = 0

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, as far as the file is whole."""
        assert self._buffer is not None
        data, at = memoryview(self._buffer), self._first_block
        while at < len(data):
            self.unread = len(data) - at
            if self.unread < _BLOCK.size:
                return
            magic, kind, _, rows, size = _BLOCK.unpack_from(data, at)
            start = at + _BLOCK.size
            if magic != _BLOCK_MAGIC or start + size > len(data):
                return
            if kind == _STRINGS:
                if not self._read_texts(data[start : start + size], rows):
                    return
            elif kind in self._layouts:
                block = self._block(self._layouts[kind], start, rows, size)
                if block is None:
                    return
                yield block
            at = start + size
        self.unread = 0

    def places(self, kind: str, columns: Collection[str]) -> Iterator[int]:
        """Yield where in the file the values of some columns of a kind begin."""
        assert self._buffer is not None
        data, at = memoryview(self._buffer), self._first_block
        while at + _BLOCK.size <= len(data):
            magic, number, _, rows, size = _BLOCK.unpack_from(data, at)
            place = at + _BLOCK.size
            at = place + size
            layout = self._layouts.get(number)
            if magic != _BLOCK_MAGIC or at > len(data):
                return
            if layout is None or layout.name != kind or rows * layout.row_bytes > size:
                continue
            for name, _, width in layout.columns:
                if name in columns:
                    yield from range(place, place + rows * width, width)
                place += rows * width

    def _block(self, layout: Layout, at: int, rows: int, size: int) -> Block | None:
        if rows * layout.row_bytes > size or not rows:
            return None
        columns = []
        for _, kind, width in layout.columns:
            assert self._buffer is not None
            part = self._buffer.slice(at, rows * width)
            columns.append(pa.Array.from_buffers(kind, rows, [None, part]))
            at += rows * width
        names = [name for name, _, _ in layout.columns]
        return Block(layout.name, pa.RecordBatch.from_arrays(columns, names))

    def _read_texts(self, data: memoryview, count: int) -> bool:
        at = 0
        for _ in range(count):
            if at + _TEXT.size > len(data):
                return False
            number, length = _TEXT.unpack_from(data, at)
            at += _TEXT.size
            if at + length > len(data):
                return False
            self.texts[number] = bytes(data[at : at + length]).decode(
                "utf-8", "replace"
            )
            at += length
        return True


def is_capture_file(path: Path) -> bool:
    """Tell whether a file begins as one of the collector does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def open_capture_file(path: Path) -> CaptureFile:
    """Open a file and read its header.

    Raises:
        UnreadableTraceError: The header is cut or is none.
    """
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    buffer = pa.py_buffer(mapped)
    damaged = UnreadableTraceError(
        f"{path.name} is cut in its header: nothing can be read from it",
        hint="record it again",
    )
    if len(mapped) < HEADER.size:
        raise damaged
    magic, length = HEADER.unpack_from(mapped)
    end = HEADER.size + length
    if magic != MAGIC or length > _LONGEST_HEADER or end > len(mapped):
        raise damaged
    text = mapped[HEADER.size : end].decode("utf-8", "replace")
    opened = CaptureFile(path.name, {}, {}, _buffer=buffer, _first_block=end)
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "kind":
            layout = _layout(rest)
            if layout is None:
                raise damaged
            opened._layouts[layout[0]] = layout[1]
        elif word == "variable":
            name, _, value = rest.partition(" ")
            opened.variables[name] = value
        elif word:
            opened.facts[word] = rest
    return opened


def _layout(text: str) -> tuple[int, Layout] | None:
    """Parse `1 kernel start_ns:q end_ns:q name:u`."""
    number, _, rest = text.partition(" ")
    name, *columns = rest.split(" ")
    pairs = [column.partition(":") for column in columns]
    names = {column for column, _, _ in pairs}
    if not number.isdecimal() or len(names) < len(pairs):
        return None
    if any(kind not in _TYPES for _, _, kind in pairs):
        return None
    return int(number), Layout(
        name, tuple((column, *_TYPES[kind]) for column, _, kind in pairs)
    )
