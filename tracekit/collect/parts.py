"""The part of a program's kernels that counters are read of."""

from dataclasses import dataclass

MOST_LAUNCHES = 5_000
"""So many launches are measured at most: each runs alone, and several times."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Kernel launches that are measured, counted in the order of the launches.

    Attributes:
        skip: How many are passed over first.
        count: How many are measured then.
        names: Only kernels of these names are counted and measured; empty for all.
        base: What `names` are: `mangled`, or `function` for names without templates.
        why: Which part of the program that is, for the user.
    """

    skip: int = 0
    count: int = MOST_LAUNCHES
    names: tuple[str, ...] = ()
    base: str = "mangled"
    why: str = ""
