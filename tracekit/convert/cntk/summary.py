"""Reads the summary that CNTK's profiler writes beside its detail file."""

import re
from collections.abc import Iterator
from pathlib import Path

from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.errors import UnreadableTraceError

TITLE = b"CNTK Performance Profiler Summary Report"
LARGEST_BYTES = 16 << 20
_UNITS = {"s": ("ns", 1e9), "ms": ("ns", 1e6), "us": ("ns", 1e3), "ns": ("ns", 1.0)}
_QUANTITY = r"(-?[\d.]+)(?:\s+([A-Za-z/]+))?"
_LINE = re.compile(
    r"(?P<name>\S.*?)\s*:\s+"
    + r"\s+".join([_QUANTITY] * 4)
    + rf"\s+(?P<count>\d+)(?:\s+{_QUANTITY})?\s*"
)
_VALUES = ("mean", "standard_deviation", "minimum", "maximum")
_HEADER = "Description"


def read_summary(capture: Path, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of a summary; see `Reader.read`.

    Raises:
        UnreadableTraceError: It is too large to be one.
    """
    if capture.stat().st_size > LARGEST_BYTES:
        raise UnreadableTraceError(f"{reading.name} is over 16 MiB, no summary")
    rank = rank_in_name(reading.name) or 0
    batches = RowBatches(reading)
    category = None
    for line in capture.read_text("utf-8", "replace").splitlines():
        found = _LINE.fullmatch(line)
        if found is not None:
            batches.add("reported_total", rank, _row(category, found))
        elif line.strip() and ":" not in line and not line.startswith(_HEADER):
            # A line of its own names the thread that the lines below it are of.
            category = line.strip()
    yield from batches.rest()
    for table in ("kernel", "operator", "annotation", "step", "api_call"):
        reading.log.absent[table] = "the capture holds totals, not single events"


def _row(category: str | None, found: re.Match[str]) -> dict[str, object]:
    groups = found.groups()
    quantities = [(groups[i], groups[i + 1]) for i in (1, 3, 5, 7)]
    unit, factor = _UNITS.get(quantities[0][1] or "", (quantities[0][1], 1.0))
    row: dict[str, object] = {
        "category": category,
        "name": found["name"],
        "unit": unit,
        "count": int(found["count"]),
    }
    for column, (digits, _) in zip(_VALUES, quantities, strict=True):
        row[column] = _scaled(digits, factor)
    row["total"] = _scaled(groups[10], factor)
    return row


def _scaled(digits: str | None, factor: float) -> float | None:
    try:
        return None if digits is None else round(float(digits) * factor, 1)
    except ValueError:
        return None
