"""The order in which rows of a SQLite table are read.

nsys writes a table sorted by start, or as one sorted stretch after the other, such as
the API calls of one process behind those of another. Read stretch by stretch, such a
table would have to be sorted on disk; so the stretches are read side by side, a slice
of time after the other. Where they lie is found from a few hundred rows. A guess that
is wrong costs time and no correctness: what is written is checked and sorted.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

_PROBES = 256
_MOST_STRETCHES = 64


class RowRange(NamedTuple):
    """Row ids from `low` to `high`, both included."""

    low: int
    high: int


def slices(
    low: int, high: int, rows: int, time_of: Callable[[int], int | None]
) -> Iterator[list[RowRange]]:
    """Yield what to read at a time: about `rows` rows, as ranges of row ids.

    Args:
        low: The first row id.
        high: The last row id.
        rows: Rows a slice.
        time_of: Returns the time of a row, or of the next one where there is none.
    """
    stretches = _stretches(low, high, time_of) if high - low >= rows else None
    if stretches is None or len(stretches) == 1:
        for start in range(low, high + 1, rows):
            yield [RowRange(start, min(start + rows - 1, high))]
        return
    yield from _side_by_side(stretches, rows, time_of)


def _stretches(
    low: int, high: int, time_of: Callable[[int], int | None]
) -> list[RowRange] | None:
    """Return the sorted stretches, or None if there are too many to be a pattern."""
    step = max(1, (high - low) // _PROBES)
    probes = [*range(low, high, step), high]
    times = [time_of(row) for row in probes]
    found: list[RowRange] = []
    begin = low
    for place, (time, following) in enumerate(pairwise(times)):
        if time is None or following is None:
            return None
        if following < time:
            last = _last_at_least(probes[place], probes[place + 1], time, time_of)
            found.append(RowRange(begin, last))
            begin = last + 1
            if len(found) >= _MOST_STRETCHES:
                return None
    found.append(RowRange(begin, high))
    return found


def _last_at_least(
    low: int, high: int, time: int, time_of: Callable[[int], int | None]
) -> int:
    """Return the last row of the stretch that `low` is in; `high` is in the next."""
    while high - low > 1:
        middle = (low + high) // 2
        if (time_of(middle) or 0) >= time:
            low = middle
        else:
            high = middle
    return low


def _side_by_side(
    stretches: list[RowRange], rows: int, time_of: Callable[[int], int | None]
) -> Iterator[list[RowRange]]:
    total = sum(stretch.high - stretch.low + 1 for stretch in stretches)
    count = max(1, total // rows)
    longest = max(stretches, key=lambda stretch: stretch.high - stretch.low)
    step = (longest.high - longest.low + 1) / count
    cuts = [time_of(longest.low + int(step * part)) for part in range(1, count)]
    begins = [stretch.low for stretch in stretches]
    for cut in [*cuts, None]:
        part = []
        for place, stretch in enumerate(stretches):
            end = stretch.high + 1
            if cut is not None:
                end = _first_at_least(begins[place], stretch.high, cut, time_of)
            if end > begins[place]:
                part.append(RowRange(begins[place], end - 1))
                begins[place] = end
        if part:
            yield part


def _first_at_least(
    low: int, high: int, time: int, time_of: Callable[[int], int | None]
) -> int:
    """Return the first row of a sorted range whose time is `time` or later."""
    end = high + 1
    while low < end:
        middle = (low + end) // 2
        found = time_of(middle)
        if found is None or found >= time:
            end = middle
        else:
            low = middle + 1
    return low
