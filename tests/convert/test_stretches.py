"""Sorted stretches are found and read side by side; a wrong guess loses no row."""

import random
from collections.abc import Callable

import pytest

from tracekit.convert.nsys.stretches import RowRange, slices


def reader(times: list[int]) -> Callable[[int], int | None]:
    """Return the look-up of a table whose row ids count from 1."""

    def time_of(row: int) -> int | None:
        return times[row - 1] if 1 <= row <= len(times) else None

    return time_of


def rows_of(ranges: list[list[RowRange]]) -> list[list[int]]:
    return [
        [row for part in parts for row in range(part.low, part.high + 1)]
        for parts in ranges
    ]


@pytest.mark.parametrize("stretches", [1, 2, 5, 40])
def test_slices_of_stretches_follow_each_other_in_time(stretches: int) -> None:
    times = [
        place * 10 + stretch
        for stretch in range(stretches)
        for place in range(4000 // stretches)
    ]
    read = rows_of(list(slices(1, len(times), 100, reader(times))))
    assert sorted(row for part in read for row in part) == list(
        range(1, len(times) + 1)
    )
    last = -1
    for part in read:
        found = [times[row - 1] for row in part]
        assert min(found) >= last
        last = max(found)


def test_stretches_of_different_length_and_time() -> None:
    first = list(range(1000, 5000))
    second = list(range(0, 9000, 3))
    times = first + second
    read = rows_of(list(slices(1, len(times), 500, reader(times))))
    assert sorted(row for part in read for row in part) == list(
        range(1, len(times) + 1)
    )
    starts = [min(times[row - 1] for row in part) for part in read]
    assert starts == sorted(starts)


@pytest.mark.parametrize("seed", range(5))
def test_any_order_is_read_whole_and_once(seed: int) -> None:
    chance = random.Random(seed)
    times = [chance.randrange(1000) for _ in range(3000)]
    read = rows_of(list(slices(1, len(times), 100, reader(times))))
    assert sorted(row for part in read for row in part) == list(
        range(1, len(times) + 1)
    )


def test_rows_without_times_are_read_in_order() -> None:
    read = list(slices(1, 250, 100, lambda _: None))
    assert read == [[RowRange(1, 100)], [RowRange(101, 200)], [RowRange(201, 250)]]
