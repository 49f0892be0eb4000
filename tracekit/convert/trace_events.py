"""Chrome trace events as plain values: times in ps, arguments as a dict."""

from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import msgspec

from tracekit.convert.kineto.events import Event
from tracekit.convert.kineto.stream import EventStream
from tracekit.convert.readers.base import CaptureLog

_PS_IN_US = 1_000_000
# From here on a double of microseconds no longer tells a picosecond.
_COARSE_US = 1 << 33
_LARGEST_EXPONENT = 18
HEAD_BYTES = 1 << 20
_LONGEST_ARGS = 1 << 20


def read_head(capture: Path) -> bytes:
    """Return the beginning of a file of JSON, or nothing for another file."""
    if not capture.is_file():
        return b""
    with capture.open("rb") as file:
        head = file.read(HEAD_BYTES)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return head if start[:1] in (b"{", b"[") else b""


def read_events(capture: Path, log: CaptureLog) -> Iterator[Event]:
    """Yield the events of a file, in bounded memory; what was mended is counted."""
    with closing(EventStream(capture, log)) as stream:
        for chunk in stream.chunks():
            yield from chunk


def picoseconds(raw: msgspec.Raw) -> int | None:
    """Return decimal microseconds in ps, None for what is no number.

    Programs print doubles: 55.341999999999999 is 55.342. Rounding to the ps, or to the
    ns where a double is coarser than that, gives the number that was meant.
    """
    text = bytes(raw).strip().strip(b'"').decode("ascii", "replace")
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or value.adjusted() > _LARGEST_EXPONENT:
        return None
    if abs(value) < _COARSE_US:
        return int((value * _PS_IN_US).to_integral_value())
    return int((value * 1000).to_integral_value()) * 1000


def arguments(event: Event) -> dict[str, Any]:
    """Return the arguments of an event; empty where they are no object."""
    raw = bytes(event.args)
    if not raw or len(raw) > _LONGEST_ARGS:
        return {}
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
