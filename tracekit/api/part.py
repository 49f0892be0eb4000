"""Chooses the kernels to read counters of, from an earlier run of the program."""

from typing import Any

from tracekit.api.trace import Trace
from tracekit.collect.parts import MOST_LAUNCHES, Part
from tracekit.errors import UsageError
from tracekit.store.run import Run

# Longer patterns are left to shorter names: ncu's are matched by recursion.
_LONGEST_PATTERN = 4_000
_TOP = 20

_BY_NAME = """
    SELECT
        mangled_name,
        coalesce(short_name, name) AS function_name,
        sum(end_ns - start_ns) AS total_ns,
        count(*) AS launches
    FROM kernel
    GROUP BY ALL
    ORDER BY total_ns DESC, function_name ASC, mangled_name ASC
"""
_LAUNCHES = """
    WITH
        first_step AS (
            SELECT start_ns, end_ns
            FROM stable_step
            WHERE stable
            ORDER BY start_ns, end_ns
            LIMIT 1
        ),
        launched AS (
            SELECT coalesce(call_start_ns, start_ns) AS time_ns
            FROM launch
            WHERE activity = 'kernel'{names}
        )
    SELECT
        (SELECT count(*) FROM first_step) AS steps,
        count(*) AS launches,
        count(*) FILTER (
            WHERE time_ns < (SELECT start_ns FROM first_step)
        ) AS before,
        count(*) FILTER (
            WHERE
                time_ns >= (SELECT start_ns FROM first_step)
                AND time_ns < (SELECT end_ns FROM first_step)
        ) AS inside
    FROM launched
"""


def part_to_measure(run: Run, top: int | None = None) -> Part:
    """Return the launches to measure so that they stand for those of a run.

    One step, the first stable one, where steps are known; a short run as a whole; else
    launches from its second half, of the kernels that took most time.

    Args:
        run: An earlier run of the same program.
        top: Only so many kernels, those with most time; None for all.

    Raises:
        UsageError: The run has no kernels.
    """
    trace = Trace([run])
    kernels = trace.sql(_BY_NAME).to_arrow().to_pylist()
    if not kernels:
        raise UsageError(
            f"{run.path} has no kernels, so none can be chosen to measure",
            hint="name a run with a timeline of the same program",
        )
    names: tuple[str, ...] = ()
    base = "mangled"
    if top is not None:
        base, names = _names(kernels[:top])
    found = _launches(trace, base, names)
    of = f" of the {top} kernels with most time" if top is not None else ""
    if found["inside"]:
        return Part(
            skip=found["before"],
            count=found["inside"],
            names=names,
            base=base,
            why=f"the first stable step{of} (launches: {found['inside']:,})",
        )
    if found["launches"] <= MOST_LAUNCHES:
        return Part(
            count=found["launches"],
            names=names,
            base=base,
            why=f"the whole run{of} (launches: {found['launches']:,})",
        )
    if not names:
        top = _TOP
        base, names = _names(kernels[:top])
        found = _launches(trace, base, names)
    # The warm-up is in the first half.
    skip = max(0, found["launches"] // 2 - 1)
    count = min(MOST_LAUNCHES, found["launches"] - skip)
    return Part(
        skip=skip,
        count=count,
        names=names,
        base=base,
        why=f"the {top} kernels with most time, as no steps are known (launches: "
        f"{count:,})",
    )


def _names(kernels: list[dict[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Return what names of kernels are, and the names."""
    symbols = [kernel["mangled_name"] for kernel in kernels]
    if all(symbols) and sum(map(len, symbols)) <= _LONGEST_PATTERN:
        return "mangled", tuple(dict.fromkeys(symbols))
    functions = (kernel["function_name"] for kernel in kernels)
    return "function", tuple(dict.fromkeys(functions))


def _launches(trace: Trace, base: str, names: tuple[str, ...]) -> dict[str, int]:
    """Count the launches of kernels, and those before and in the first stable step."""
    condition = ""
    if names:
        column = "mangled_name" if base == "mangled" else "coalesce(short_name, name)"
        listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        condition = (
            f" AND kernel_id IN (SELECT kernel_id FROM kernel "
            f"WHERE {column} IN ({listed}))"
        )
    rows = trace.sql(_LAUNCHES.format(names=condition)).to_arrow().to_pylist()
    found: dict[str, int] = rows[0]
    return found
