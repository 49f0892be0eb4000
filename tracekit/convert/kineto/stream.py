"""The events of a trace file, a chunk after the other.

A chunk is cut between two events and decoded at once. Only a chunk that is not valid
JSON is taken apart event by event, so that one bad event costs itself and no other.
"""

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tracekit.convert.kineto.events import (
    NOTHING,
    Event,
    LooseEvent,
    decode_by_rule,
)
from tracekit.convert.kineto.repair import mend, mend_quotes
from tracekit.convert.readers.base import CaptureLog

CHUNK = 8 << 20
_HEADER_BLOCK = 64 << 10
LONGEST_EVENT = 32 << 20
_LONGEST_METADATA = 16 << 20
_CUT_WINDOW = 1 << 16
# A piece that cannot be an event, in a file that goes on: a quote is amiss.
_LONGEST_DOUBT = 1 << 20
# After so many chunks with events that are not as they are by rule, no more are tried.
_MOST_UNRULY = 4

_FIELDS = rb'"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"\s*:'
_BOUNDARY = re.compile(rb"\}\s*,?\s*(?=\{\s*" + _FIELDS + rb")")
_TOKEN = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}]')
_TOP = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]')
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_BLANK = b" \t\r\n,"
_OPEN, _CLOSE = b"[]"
_NO_BLANK = re.compile(rb"[^ \t\r\n,]")
# Blanks and the mark of UTF-8 that some editors write.
_BEFORE = b" \t\r\n\xef\xbb\xbf"

_DECODER = msgspec.json.Decoder(list[Event])
_ONE = msgspec.json.Decoder(Event)
_LOOSE = msgspec.json.Decoder(LooseEvent)
_INVALID = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class EventStream:
    """Reads a trace file once, in bounded memory.

    Args:
        path: The file, decompressed.
        log: Counts what was mended and what was skipped.

    Attributes:
        header: The text before the events, from the opening brace on.
        trailer: The text after them; complete when the events are read.
    """

    def __init__(self, path: Path, log: CaptureLog) -> None:
        self.header = b""
        self.trailer = b""
        self._path = path
        self._log = log
        self._ended = False
        # Chunks in a row that were not decoded by rule.
        self._unruly = 0
        self._file = path.open("rb")
        self._rest = self._find_events()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def chunks(self) -> Iterator[list[Event]]:
        """Yield the events, about as many as stand in 8 MiB at a time."""
        rest = self._rest
        lost = False
        while not self._ended:
            text = self._read_after(rest)
            if text is None:
                break
            if lost:
                found = _BOUNDARY.search(text)
                if found is None:
                    rest = bytes(text[-_CUT_WINDOW:])
                    continue
                # What comes before the boundary stays in its place, as blanks.
                text[: found.end()] = b" " * found.end()
                lost = False
            events, rest = self._decode(text)
            del text
            yield events
            # Before the next chunk is decoded: two of them need not be held.
            del events
            if len(rest) > LONGEST_EVENT:
                self._log.skip(
                    "event", f"longer than {LONGEST_EVENT >> 20} MiB of JSON"
                )
                rest, lost = rest[-_CUT_WINDOW:], True
        if not self._ended and not lost:
            events, rest = self._decode(bytearray(b" " + rest))
            yield events
        if not self._ended and not lost:
            yield self._decode_apart(rest, final=True)[0]
        if self._ended:
            self._read_trailer()
        else:
            self._log.repair("file", "the list of events is not closed: cut short")
            self._log.diagnose(
                "warning", "the trace is cut short: its list of events is not closed"
            )

    def _read_after(self, rest: bytes) -> bytearray | None:
        """Return a blank, `rest` and the next chunk, or None at the end of the file."""
        begin = 1 + len(rest)
        text = bytearray(begin + CHUNK)
        text[:begin] = b" " + rest
        with memoryview(text) as view:
            size = self._file.readinto(view[begin:])
        if not size:
            return None
        del text[begin + size :]
        return text

    def _find_events(self) -> bytes:
        """Read up to the first event and return what was read beyond."""
        text = b""
        lost = False
        while True:
            # A header is short; what is read beyond it is held beside a chunk.
            data = self._file.read(CHUNK if text else _HEADER_BLOCK)
            text += data
            start = text.lstrip(_BEFORE)
            if start[:1] == b"[" and not lost:
                return start[1:]
            found = _plain_start(text) if lost else _start_of_events(text)
            if found is not None:
                self.header = b"" if lost else text[: found[0]]
                return text[found[1] :]
            if not data:
                self.header = b"" if lost else text
                return b""
            if len(text) > LONGEST_EVENT:
                # Something huge stands before the events: it is let go.
                if not lost:
                    self._log.skip("metadata", "too long to be kept")
                text, lost = text[-_CUT_WINDOW:], True

    def _decode(self, text: bytearray) -> tuple[list[Event], bytes]:
        """Decode the whole events in `text`; return them and what is left.

        The text begins with a blank. Brackets are put around the events where they
        stand: a copy of the text would cost as much as its reading.
        """
        cut = _last_boundary(text)
        if cut is not None:
            end, following = cut
            found = _NO_BLANK.search(text)
            assert found is not None
            start = found.start() - 1
            events: list[Event] | None
            before, after = text[start], text[end]
            text[start], text[end] = _OPEN, _CLOSE
            try:
                events = self._whole(memoryview(text)[start : end + 1])
            except _INVALID:
                events = None
            text[start], text[end] = before, after
            if events is not None:
                return events, bytes(memoryview(text)[following:])
        return self._decode_apart(bytes(text), final=False)

    def _whole(self, text: memoryview) -> list[Event]:
        if self._unruly < _MOST_UNRULY:
            try:
                events = decode_by_rule(text)
            except msgspec.ValidationError:
                self._unruly += 1
            else:
                self._unruly = 0
                return events
        return _DECODER.decode(text)

    def _decode_apart(self, text: bytes, *, final: bool) -> tuple[list[Event], bytes]:
        """Decode event by event; return them and what is left."""
        events: list[Event] = []
        position, size = 0, len(text)
        while position < size:
            byte = text[position : position + 1]
            if byte in _BLANK_BYTES:
                position += 1
                continue
            if byte == b"]":
                self._ended = True
                self.trailer = text[position + 1 :]
                return events, b""
            if byte != b"{":
                position = self._skip_stray(text, position)
                continue
            end = _end_of_object(text, position)
            event = None if end is None else self._event(text[position:end])
            if end is not None and event is not None:
                events.append(event)
                position = end
                continue
            boundary = _BOUNDARY.search(text, position + 1)
            if boundary is not None and (end is None or boundary.start() < end):
                if end is None and not final and size - position < _LONGEST_DOUBT:
                    return events, text[position:]
                piece = text[position : boundary.start() + 1]
                following = boundary.end()
            elif end is not None:
                piece, following = text[position:end], end
            elif final:
                piece, following = text[position:], size
            else:
                return events, text[position:]
            position = following
            event = self._mended(piece, cut_short=final and following >= size)
            if event is not None:
                events.append(event)
        return events, b""

    def _skip_stray(self, text: bytes, position: int) -> int:
        """Return where the next event can begin, after text that is none."""
        found = text.find(b"{", position)
        self._log.skip("text", "between events, and no event")
        return len(text) if found < 0 else found

    def _event(self, text: bytes) -> Event | None:
        try:
            return _ONE.decode(text)
        except msgspec.ValidationError:
            return self._loose(text)
        except _INVALID:
            return None

    def _mended(self, piece: bytes, *, cut_short: bool) -> Event | None:
        """Return the event after mending, or None, counted either way."""
        for change in (mend, _mend_all):
            try:
                text, faults = change(piece)
            except RecursionError:
                break
            if not faults:
                continue
            event = self._event(text)
            if event is not None:
                for fault in faults:
                    self._log.repair("event", fault)
                return event
        reason = "cut off at the end of the file" if cut_short else "not JSON"
        self._log.skip("event", reason)
        return None

    def _loose(self, text: bytes) -> Event | None:
        """Read an event whose fields have other types than they should."""
        try:
            loose = _LOOSE.decode(text)
        except _INVALID:
            return None
        self._log.repair("event", "field of another type than it should have")
        return Event(
            ph=_text(loose.ph) or "",
            cat=_text(loose.cat),
            name=_text(loose.name),
            pid=_id(loose.pid),
            tid=_id(loose.tid),
            ts=loose.ts,
            dur=loose.dur,
            args=loose.args if bytes(loose.args)[:1] == b"{" else NOTHING,
            id=_id(loose.id),
        )

    def _read_trailer(self) -> None:
        while len(self.trailer) < _LONGEST_METADATA:
            data = self._file.read(CHUNK)
            if not data:
                return
            self.trailer += data
        self._log.skip("metadata", "too long to be kept")
        self.trailer = b""


_BLANK_BYTES = frozenset(_BLANK[i : i + 1] for i in range(len(_BLANK)))


def _mend_all(piece: bytes) -> tuple[bytes, list[str]]:
    quoted, faults = mend_quotes(piece)
    text, more = mend(quoted)
    return text, faults + more


def _start_of_events(text: bytes) -> tuple[int, int] | None:
    """Return where the key `traceEvents` of the outermost object and its list begin."""
    depth = 0
    for token in _TOP.finditer(text):
        found = token[0]
        if found in (b"{", b"["):
            depth += 1
        elif found in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and found == b'"traceEvents"':
            opened = _EVENTS.match(text, token.start())
            if opened is not None:
                return token.start(), opened.end()
    return None


def _plain_start(text: bytes) -> tuple[int, int] | None:
    """Return the same by its text alone, where what stands before is not whole."""
    match = _EVENTS.search(text)
    return None if match is None else (match.start(), match.end())


def _last_boundary(text: bytearray) -> tuple[int, int] | None:
    """Return where the last event that is followed by another ends, and where that."""
    for start in (max(0, len(text) - _CUT_WINDOW), 0):
        found = deque(_BOUNDARY.finditer(text, start), maxlen=1)
        if found:
            return found[0].start() + 1, found[0].end()
    return None


def _end_of_object(text: bytes, start: int) -> int | None:
    """Return the end of the object that begins at `start`, None if it is not there."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        found = token[0]
        if found == b"{":
            depth += 1
        elif found == b"}":
            depth -= 1
            if depth == 0:
                return token.end()
        elif found == b'"':
            return None
    return None


def _text(raw: msgspec.Raw) -> str | None:
    value = _plain(raw)
    return None if value is None else value if isinstance(value, str) else str(value)


def _id(raw: msgspec.Raw) -> int | str | None:
    value = _plain(raw)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int | str) else None


def _plain(raw: msgspec.Raw) -> object:
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except _INVALID:
        return None
