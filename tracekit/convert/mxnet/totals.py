"""Reads what `mxnet.profiler.dumps` returns: its totals, as text or as JSON."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, CaptureLog, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.errors import UnreadableTraceError

LARGEST_BYTES = 64 << 20
TITLE = b"Profile Statistics:"
_TIME, _MEMORY = "Time", "Memory"
_UNITS = {
    "s": ("ns", 1e9),
    "ms": ("ns", 1e6),
    "us": ("ns", 1e3),
    "ns": ("ns", 1.0),
    "B": ("B", 1.0),
    "kB": ("B", 1e3),
    "KB": ("B", 1e3),
    "MB": ("B", 1e6),
    "GB": ("B", 1e9),
}
# Counters of MXNet itself, which it prints as if they were times in us.
_COUNTERS = frozenset({"MXNet C API Calls", "MXNet C API Concurrency"})
_NUMBER = r"\s+(-?\d[\d.eE+-]*)"
_LINE = re.compile(r"(\S.*?)\s+(\d+)" + _NUMBER * 3 + rf"(?:{_NUMBER})?\s*")
_HEADER = re.compile(r"Name\s+Total Count\s.*\((\w+)\)")


class Value(msgspec.Struct):
    """The totals of one name; memory has no sum."""

    count: int | None = msgspec.field(default=None, name="Count")
    total: float | None = msgspec.field(default=None, name="Total")
    minimum: float | None = msgspec.field(default=None, name="Min")
    maximum: float | None = msgspec.field(default=None, name="Max")
    mean: float | None = msgspec.field(default=None, name="Avg")


Categories = dict[str, dict[str, Value]]


class Totals(msgspec.Struct):
    """All totals as JSON."""

    unit: dict[str, str] = msgspec.field(name="Unit")
    time: Categories = msgspec.field(default_factory=dict, name=_TIME)
    memory: Categories = msgspec.field(default_factory=dict, name=_MEMORY)


def read_totals(capture: Path, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of the totals; see `Reader.read`.

    Raises:
        UnreadableTraceError: They are damaged, or too large to be totals.
    """
    if capture.stat().st_size > LARGEST_BYTES:
        raise UnreadableTraceError(
            f"{reading.name} is over 64 MiB, too large for totals"
        )
    rank = rank_in_name(reading.name) or 0
    batches = RowBatches(reading)
    content = capture.read_bytes()
    is_text = TITLE in content[:256]
    rows = (
        _text_rows(content, reading.log)
        if is_text
        else _json_rows(content, reading.name)
    )
    for row in rows:
        batches.add("reported_total", rank, row)
    yield from batches.rest()
    for table in ("kernel", "operator", "annotation", "step", "api_call"):
        reading.log.absent[table] = "the capture holds totals, not single events"


def _json_rows(content: bytes, name: str) -> Iterator[dict[str, Any]]:
    try:
        totals = msgspec.json.decode(content, type=Totals)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UnreadableTraceError(
            f"{name} is cut short or damaged: {error}"
        ) from error
    for kind, categories in ((_TIME, totals.time), (_MEMORY, totals.memory)):
        unit = totals.unit.get(kind, "")
        for category, values in categories.items():
            for line, value in values.items():
                yield _row(category, line, unit, value)


def _text_rows(content: bytes, log: CaptureLog) -> Iterator[dict[str, Any]]:
    category, unit, previous = None, "", ""
    for line in content.decode("utf-8", "replace").splitlines():
        header = _HEADER.match(line)
        if line.startswith("====") and set(line.strip()) == {"="}:
            category = previous.strip() or None
        elif header is not None:
            unit = header[1]
        elif category is not None and (found := _LINE.fullmatch(line)) is not None:
            name, count, *numbers = found.groups()
            value = _value(count, [number for number in numbers if number])
            if value is None:
                log.skip("lines of totals", "their numbers cannot be read")
            else:
                yield _row(category, name, unit, value)
        previous = line


def _value(count: str, numbers: list[str]) -> Value | None:
    try:
        values = [float(number) for number in numbers]
        total = values.pop(0) if len(values) == 4 else None
        return Value(int(count), total, *values)
    except ValueError:
        return None


def _row(category: str, name: str, unit: str, value: Value) -> dict[str, Any]:
    known, factor = _UNITS.get(unit, (unit or None, 1.0))
    total = value.total
    if name in _COUNTERS:
        known, factor, total = None, factor / 1e3, None
    return {
        "category": category,
        "name": name,
        "unit": known,
        "count": value.count,
        "total": _scaled(total, factor),
        "minimum": _scaled(value.minimum, factor),
        "maximum": _scaled(value.maximum, factor),
        "mean": _scaled(value.mean, factor),
    }


def _scaled(value: float | None, factor: float) -> float | None:
    # Times have four decimals of a ms: 0.1 ns is finer than any of them.
    return None if value is None else round(value * factor, 1)
