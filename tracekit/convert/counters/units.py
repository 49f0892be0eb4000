"""Finds which measured launch each kernel of a timeline repeats.

Nsight Compute replays kernels, so it runs a program apart from the timeline and often
only a part of it: one iteration. Its launches, in order, are the *unit*; the timeline
repeats it. Each whole repetition is aligned launch by launch; for kernels outside of
one, the n-th of a name and shape is the n-th of them in the unit, counted around.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Match:
    """What a kernel repeats.

    Attributes:
        launch: Position of the measured launch in the unit.
        repeat: Which whole repetition of the unit it is in, or None.
    """

    launch: int
    repeat: int | None


def align(
    unit: Sequence[Hashable], kernels: Sequence[Hashable | None]
) -> list[Match | None]:
    """Return the match of each kernel.

    Args:
        unit: What tells the measured launches apart (name, shape), in launch order.
        kernels: The same of the kernels of one process, in launch order; None where a
            kernel was not measured.
    """
    places = [place for place, key in enumerate(kernels) if key is not None]
    known = [kernels[place] for place in places]
    matches: list[Match | None] = [None] * len(kernels)
    starts = _occurrences(unit, known)
    for repeat, start in enumerate(starts):
        for offset in range(len(unit)):
            matches[places[start + offset]] = Match(offset, repeat)
    of_key: dict[Hashable, list[int]] = defaultdict(list)
    for position, key in enumerate(unit):
        of_key[key].append(position)
    seen: dict[Hashable, int] = defaultdict(int)
    for place in places:
        key = kernels[place]
        if matches[place] is None and key in of_key:
            launches = of_key[key]
            matches[place] = Match(launches[seen[key] % len(launches)], None)
            seen[key] += 1
    return matches


def _occurrences(
    unit: Sequence[Hashable], kernels: Sequence[Hashable | None]
) -> list[int]:
    """Return where the unit begins, leftmost first, without overlaps.

    The search is Knuth's, Morris' and Pratt's: linear in the length of both.
    """
    if not unit or len(unit) > len(kernels):
        return []
    border = [0] * len(unit)
    length = 0
    for place in range(1, len(unit)):
        while length and unit[place] != unit[length]:
            length = border[length - 1]
        length += unit[place] == unit[length]
        border[place] = length
    found = []
    length = 0
    for place, key in enumerate(kernels):
        while length and key != unit[length]:
            length = border[length - 1]
        length += key == unit[length]
        if length == len(unit):
            found.append(place - length + 1)
            length = 0
    return found
