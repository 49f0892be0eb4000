"""Pairs the beginnings and ends of Chrome traces."""

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class Pair(NamedTuple):
    """A beginning and its end, in ps; None where the trace holds no end."""

    start_ps: int | None
    end_ps: int | None


class Pairing(Generic[K]):
    """Beginnings that wait for their end.

    An end closes the last open beginning of the same key. So pairs may stand inside of
    each other, and a list that is sorted by the ends pairs as well.
    """

    def __init__(self) -> None:
        self._open: dict[K, list[int | None]] = defaultdict(list)

    def begin(self, key: K, time_ps: int | None) -> None:
        """Note a beginning."""
        self._open[key].append(time_ps)

    def end(self, key: K, time_ps: int | None) -> Pair | None:
        """Return the pair that an end closes, or None where nothing is open."""
        waiting = self._open.get(key)
        if not waiting:
            return None
        start = waiting.pop()
        if not waiting:
            del self._open[key]
        return Pair(start, time_ps)

    def left(self) -> Iterator[tuple[K, Pair]]:
        """Yield what was never closed."""
        for key, starts in self._open.items():
            for start in starts:
                yield key, Pair(start, None)
