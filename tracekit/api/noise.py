"""Tells a change of a measured mean from chance."""

import math
from dataclasses import dataclass

FLOOR = 0.02
"""Changes below this part are never told: runs of one program differ as much by the
temperature of the GPU."""

# Two-sided 99 % points of Student's t by degrees of freedom.
_T99 = (
    (1, 63.66),
    (2, 9.92),
    (3, 5.84),
    (4, 4.60),
    (5, 4.03),
    (6, 3.71),
    (8, 3.36),
    (10, 3.17),
    (15, 2.95),
    (20, 2.85),
    (30, 2.75),
    (100, 2.63),
    (1000, 2.58),
)


@dataclass(frozen=True)
class Measured:
    """A mean, and how far it may be off.

    Attributes:
        value: The mean, in any unit.
        error: Its standard error, in the same unit; None if it is not known.
        freedom: Degrees of freedom of that error.
    """

    value: float
    error: float | None = None
    freedom: int = 0


def mean_of(value: float, deviation: float | None, count: int) -> Measured:
    """Return the mean of `count` values with their sample standard deviation."""
    if deviation is None or count < 2:
        return Measured(value)
    return Measured(value, deviation / math.sqrt(count), count - 1)


def margin(base: Measured, other: Measured) -> float:
    """Return the largest difference that may be chance, in their unit.

    Welch's test at 99 %, and never less than `FLOOR` of the larger.
    """
    least = FLOOR * max(abs(base.value), abs(other.value))
    known = [one for one in (base, other) if one.error is not None]
    error = math.sqrt(sum((one.error or 0.0) ** 2 for one in known))
    if not error:
        return least
    below = sum(
        (one.error or 0.0) ** 4 / one.freedom for one in known if one.freedom > 0
    )
    freedom = error**4 / below if below else 1.0
    return max(least, _t99(freedom) * error)


def _t99(freedom: float) -> float:
    fitting = [t for degrees, t in _T99 if degrees <= freedom + 1e-6]
    return fitting[-1] if fitting else _T99[0][1]
