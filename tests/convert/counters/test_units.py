"""Which measured launch each kernel of a timeline repeats."""

import random
from collections import Counter

from tracekit.convert.counters.units import Match, align


def positions(unit: str, kernels: str) -> list[tuple[int, int | None] | None]:
    """Align words: `.` is a kernel that was not measured."""
    keys = [None if key == "." else key for key in kernels]
    return [
        None if match is None else (match.launch, match.repeat)
        for match in align(unit, keys)
    ]


def test_repetitions_are_aligned_launch_by_launch() -> None:
    assert positions("aab", "aabaab") == [
        (0, 0),
        (1, 0),
        (2, 0),
        (0, 1),
        (1, 1),
        (2, 1),
    ]


def test_kernels_that_were_not_measured_stand_between() -> None:
    assert positions("ab", ".a..b.ab") == [
        None,
        (0, 0),
        None,
        None,
        (1, 0),
        None,
        (0, 1),
        (1, 1),
    ]


def test_outside_of_a_repetition_launches_of_a_key_are_counted_around() -> None:
    # b, then the unit abca, then a third a.
    assert positions("abca", "babcaa") == [
        (1, None),
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 0),
        (0, None),
    ]


def test_one_differing_kernel_leaves_the_others_their_order() -> None:
    # No whole repetition of aba: the a are first and second by turns.
    assert positions("aba", "axaaxa") == [
        (0, None),
        None,
        (2, None),
        (0, None),
        None,
        (2, None),
    ]


def test_nothing_measured_and_nothing_launched() -> None:
    assert positions("", "ab") == [None, None]
    assert positions("ab", "") == []


def brute_force(unit: str, kernels: str) -> list[Match | None]:
    """Search at every place, and count."""
    matches: list[Match | None] = [None] * len(kernels)
    place = repeat = 0
    while unit and place + len(unit) <= len(kernels):
        if kernels[place : place + len(unit)] == unit:
            for offset in range(len(unit)):
                matches[place + offset] = Match(offset, repeat)
            place, repeat = place + len(unit), repeat + 1
        else:
            place += 1
    seen: Counter[str] = Counter()
    for place, key in enumerate(kernels):
        if matches[place] is None and key in unit:
            launches = [p for p, k in enumerate(unit) if k == key]
            matches[place] = Match(launches[seen[key] % len(launches)], None)
            seen[key] += 1
    return matches


def test_random_sequences_agree_with_a_search_at_every_place() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        unit = "".join(rng.choices("ab", k=rng.randint(1, 5)))
        noise = "".join(rng.choices("ab", k=rng.randint(0, 6)))
        kernels = "".join(rng.choice((unit, noise)) for _ in range(rng.randint(0, 5)))
        assert align(unit, kernels) == brute_force(unit, kernels), (unit, kernels)


def test_a_long_timeline_of_one_key_takes_linear_time() -> None:
    matches = align("a" * 1000, "a" * 100_500)
    repeats = Counter(match.repeat for match in matches if match is not None)
    assert repeats[None] == 500
    assert repeats[0] == repeats[99] == 1000
