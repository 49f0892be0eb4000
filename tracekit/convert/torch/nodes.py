"""The nodes of an execution trace, of every version that PyTorch wrote.

Sources: `execution_trace_observer.cpp` of PyTorch. Up to version 1.0.1 a node is flat
(`parent`, `inputs`, `input_shapes`, ...); from 1.0.2-chakra.0.0.4 on `inputs` and
`outputs` hold values, shapes and types, 1.1.1 adds strides, and the rest stands in a
list `attrs` of names and values.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tracekit.convert.kineto.repair import mend
from tracekit.convert.readers.base import CaptureLog

_CHUNK = 8 << 20
_LONGEST_NODE = 32 << 20
_LOOKED_AT = 1 << 20
_BLANK = b" \t\r\n,"
NOTHING = msgspec.Raw(b"")

_NODES = re.compile(rb'"nodes"\s*:\s*\[')
_SCHEMA = re.compile(rb'"schema"\s*:\s*"(\d[\w.+-]{0,64})"')
_PID = re.compile(rb'"pid"\s*:\s*(\d{1,18})\b')
_TOKEN = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\]]')
_QUOTE, _OPEN, _CLOSE, _END = b'"', b"{", b"}", b"]"
_INVALID = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class Attribute(msgspec.Struct):
    """A named value of a node."""

    name: str = ""
    value: msgspec.Raw = NOTHING


class Node(msgspec.Struct):
    """A node; fields of versions that differ stand side by side."""

    id: int | None = None
    name: str | None = None
    ctrl_deps: int | None = None
    parent: int | None = None
    attrs: list[Attribute] = []
    inputs: msgspec.Raw = NOTHING
    outputs: msgspec.Raw = NOTHING
    input_shapes: msgspec.Raw = NOTHING
    input_types: msgspec.Raw = NOTHING
    output_shapes: msgspec.Raw = NOTHING
    output_types: msgspec.Raw = NOTHING
    rf_id: msgspec.Raw = NOTHING
    fw_parent: msgspec.Raw = NOTHING
    seq_id: msgspec.Raw = NOTHING
    scope: msgspec.Raw = NOTHING
    tid: msgspec.Raw = NOTHING
    fw_tid: msgspec.Raw = NOTHING
    op_schema: msgspec.Raw = NOTHING


_DECODER = msgspec.json.Decoder(list[Node])
_ONE = msgspec.json.Decoder(Node)


class Header(msgspec.Struct):
    """What stands before the nodes: version of the format, and the process."""

    version: str | None
    os_pid: int | None


def find_nodes(path: Path) -> tuple[Header, int] | None:
    """Return the header, and where the nodes begin; None for another file."""
    with path.open("rb") as file:
        start = file.read(_LOOKED_AT)
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    nodes = _NODES.search(start)
    if text[:1] != b"{" or nodes is None:
        return None
    # A program's own text can hold anything: the header comes before the nodes.
    head = start[: nodes.start()]
    version, pid = _SCHEMA.search(head), _PID.search(head)
    if version is None or b'"traceEvents"' in head:
        return None
    header = Header(version[1].decode(), int(pid[1]) if pid else None)
    return header, nodes.end()


def read_nodes(path: Path, begin: int, log: CaptureLog) -> Iterator[list[Node]]:
    """Yield the nodes, about as many as stand in 8 MiB at a time.

    Args:
        path: The file, decompressed.
        begin: Where the nodes begin, in bytes.
        log: Counts what was mended and skipped.
    """
    with path.open("rb") as file:
        file.seek(begin)
        rest = b""
        while True:
            chunk = file.read(_CHUNK)
            rest += chunk
            pieces, behind, is_end = _whole(rest)
            yield _decoded(rest, pieces, log)
            if is_end:
                return
            rest = rest[behind:]
            if not chunk:
                break
            if len(rest) > _LONGEST_NODE:
                log.skip("node", f"longer than {_LONGEST_NODE >> 20} MiB of JSON")
                break
    log.repair("file", "the list of nodes is not closed: cut short")


def _whole(text: bytes) -> tuple[list[tuple[int, int]], int, bool]:
    """Return where the whole nodes of a text are, where the rest begins, and the end.

    The end is whether the list of nodes is closed in this text.
    """
    pieces: list[tuple[int, int]] = []
    depth = begin = behind = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token == _OPEN:
            if depth == 0:
                begin = found.start()
            depth += 1
        elif token == _CLOSE:
            depth -= 1
            if depth < 0:
                return pieces, behind, True
            if depth == 0:
                behind = found.end()
                pieces.append((begin, behind))
        elif token == _END:
            if depth == 0:
                return pieces, found.end(), True
        elif token == _QUOTE:
            # A text that is not closed here.
            break
    return pieces, behind, False


def _decoded(text: bytes, pieces: list[tuple[int, int]], log: CaptureLog) -> list[Node]:
    if not pieces:
        return []
    try:
        whole = text[pieces[0][0] : pieces[-1][1]]
        return _DECODER.decode(b"[" + whole + b"]")
    except _INVALID:
        pass
    nodes = []
    for begin, end in pieces:
        piece = text[begin:end]
        try:
            nodes.append(_ONE.decode(piece))
            continue
        except _INVALID:
            mended, faults = mend(piece)
        try:
            nodes.append(_ONE.decode(mended))
        except _INVALID:
            log.skip("node", "it is no JSON, or its fields are no fields of a node")
            continue
        for fault in faults:
            log.repair("node", fault)
    return nodes


def attributes(node: Node) -> dict[str, Any]:
    """Return what stands in `attrs`, or in the node itself, by name."""
    found: dict[str, Any] = {}
    for name in ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "op_schema"):
        raw = getattr(node, name)
        if raw:
            found[name] = value(raw)
    for attribute in node.attrs:
        found[attribute.name] = value(attribute.value)
    return found


def value(raw: msgspec.Raw) -> object:
    """Return a JSON value; None for none, and for what is none."""
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except _INVALID:
        return None
