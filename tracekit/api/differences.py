"""Compares two runs: kernels, copies, operators, ranges, steps and metrics."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from tracekit.api.metrics import LOWER_IS_BETTER, Metric, metrics_of
from tracekit.api.noise import FLOOR, Measured, margin, mean_of
from tracekit.errors import QueryError
from tracekit.query import Limits, ModuleSession, load_module
from tracekit.report.difference import CHANGES, Basis, Difference, Limit
from tracekit.store.run import Run

Row = dict[str, Any]
Parts = dict[tuple[str, str], Row]
_PARTS = "steps.repeats"
_EMPTY: Row = {
    "instances": 0,
    "total_ns": 0,
    "spread_ns": 0.0,
    "step_instances": 0.0,
    "step_instances_stddev": 0.0,
    "step_mean_ns": 0.0,
    "step_stddev_ns": 0.0,
}


def compare(
    base: Run,
    other: Run,
    *,
    fail_above: float | None = None,
    metric: str | None = None,
    limits: Limits | None = None,
) -> Difference:
    """Return what differs between two runs by more than noise.

    Where both have recorded steps, times and launches are those of a stable step, and
    how they vary from step to step says what is noise; otherwise those of the whole
    captures.

    Args:
        base: The run to compare with.
        other: The run that may differ.
        fail_above: The part by which the metric may get worse, such as 0.05.
        metric: The metric that is meant; None is the time of a step, or without steps
            the time in which kernels ran.
        limits: What a query may use.

    Raises:
        QueryError: One of the runs does not have that metric.
    """
    (first, old), (second, new) = (_asked(run, limits) for run in (base, other))
    steps = [_steps(parts) for parts in (first, second)]
    basis = Basis.STEP if all(steps) else Basis.WHOLE
    changes: list[Row] = []
    names = dict.fromkeys([*first, *second])
    for kind, name in names:
        ours = first.get((kind, name), {**_EMPTY, "steps": steps[0]})
        theirs = second.get((kind, name), {**_EMPTY, "steps": steps[1]})
        change = _part_change(ours, theirs, basis)
        if change is not None:
            changes.append({"kind": kind, "name": name, "unit": "ns", **change})
    shared = [name for name in old if name in new]
    for name in dict.fromkeys([*old, *new]):
        change = _metric_change(name, old.get(name), new.get(name))
        if change is not None:
            changes.append(change)
    changes.sort(key=_importance)
    return Difference(
        base=base.run_id,
        other=other.run_id,
        basis=basis,
        changes=pa.Table.from_pylist(changes, CHANGES),
        compared=len(names) + len(shared),
        limit=None
        if fail_above is None
        else _limit(base, other, old, new, fail_above, metric),
    )


def _asked(run: Run, limits: Limits | None) -> tuple[Parts, dict[str, Metric]]:
    with ModuleSession([run], limits=limits) as session:
        rows = session.run(load_module(_PARTS)).table.to_pylist()
        metrics = metrics_of(run, session)
    return {(row["kind"], row["part_name"]): row for row in rows}, metrics


def _steps(parts: Parts) -> int:
    return max((row["steps"] for row in parts.values()), default=0)


def _part_change(ours: Row, theirs: Row, basis: Basis) -> Row | None:
    """Return how a part changed, or None where it did not by more than noise."""
    counts = [_count(row, basis) for row in (ours, theirs)]
    times = [_time(row, basis) for row in (ours, theirs)]
    before, after = counts[0].value, counts[1].value
    difference = times[1].value - times[0].value
    noise = margin(times[0], times[1])
    change: str | None = None
    by_launches = by_each = None
    if not before and not after:
        return None
    if not before or not after:
        change = "added" if after else "removed"
    else:
        # Exactly additive: the new launches at the old time, the rest at the new one.
        by_launches = (after - before) * times[0].value / before
        by_each = difference - by_launches
        more = abs(after - before) > _count_margin(counts[0], counts[1], basis)
        if more and (abs(by_launches) >= abs(by_each) or abs(difference) <= noise):
            change = "more launches" if after > before else "fewer launches"
        elif abs(difference) > noise:
            change = "slower" if difference > 0 else "faster"
    if change is None:
        return None
    return {
        "change": change,
        "base_value": times[0].value,
        "other_value": times[1].value,
        "difference": difference,
        "relative": difference / times[0].value if times[0].value else None,
        "noise": noise,
        "base_launches": before,
        "other_launches": after,
        "by_launches": by_launches,
        "by_time_each": by_each,
    }


def _count(row: Row, basis: Basis) -> Measured:
    if basis is Basis.WHOLE:
        return Measured(float(row["instances"]))
    deviation = row["step_instances_stddev"]
    return mean_of(row["step_instances"], deviation, row["steps"])


def _count_margin(before: Measured, after: Measured, basis: Basis) -> float:
    """Return the largest difference of launches that may be chance."""
    if basis is Basis.WHOLE:
        # Captures begin and end anywhere in a step.
        return FLOOR * max(before.value, after.value)
    # Steps that all launch the same leave nothing to chance.
    if not before.error and not after.error:
        return 0.0
    return margin(before, after)


def _time(row: Row, basis: Basis) -> Measured:
    if basis is Basis.WHOLE:
        freedom = max(row["instances"] - 1, 1)
        return Measured(float(row["total_ns"]), row["spread_ns"], freedom)
    return mean_of(row["step_mean_ns"], row["step_stddev_ns"], row["steps"])


def _metric_change(name: str, old: Metric | None, new: Metric | None) -> Row | None:
    if old is None or new is None:
        return None
    difference = new.measured.value - old.measured.value
    noise = margin(old.measured, new.measured)
    if abs(difference) <= noise:
        return None
    before = old.measured.value
    kind = "step" if name.startswith("step_") else "metric"
    if kind == "step":
        change = "slower" if difference > 0 else "faster"
    else:
        change = "higher" if difference > 0 else "lower"
    return {
        "kind": kind,
        "name": name,
        "change": change,
        "base_value": before,
        "other_value": new.measured.value,
        "unit": new.unit,
        "difference": difference,
        "relative": difference / before if before else None,
        "noise": noise,
    }


def _importance(row: Row) -> tuple[int, float, str]:
    """Return the place of a change: the step first, metrics, then parts by time."""
    order = {"step": 0, "metric": 1}.get(row["kind"], 2)
    size = abs(row["difference"]) if order == 2 else abs(row["relative"] or 0)
    return order, -size, row["name"] or ""


def _limit(
    base: Run,
    other: Run,
    old: Mapping[str, Metric],
    new: Mapping[str, Metric],
    allowed: float,
    name: str | None,
) -> Limit:
    if name is None:
        both = old.keys() & new.keys()
        name = "step_ns" if "step_ns" in both else "kernel_busy_ns"
    for run, metrics in ((base, old), (other, new)):
        if name not in metrics:
            raise QueryError(
                f"{run.run_id} has no metric `{name}`",
                hint=f"it has {_listed(metrics)}",
            )
    before, after = old[name].measured, new[name].measured
    sign = 1 if name in LOWER_IS_BETTER or name.endswith("_ns") else -1
    scale = abs(before.value) or 1.0
    return Limit(
        metric=name,
        worse=sign * (after.value - before.value) / scale,
        allowed=allowed,
        noise=_noise(before, after) / scale,
    )


def _noise(before: Measured, after: Measured) -> float:
    """Return what may be chance, without the floor: the user names a limit."""
    return margin(before, after) if before.error or after.error else 0.0


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
