"""The metrics of a run by which two runs are compared."""

from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from tracekit.api.noise import Measured, mean_of
from tracekit.query import ModuleSession, Scope, load_module
from tracekit.query.scope import TimeWindow, WindowKind
from tracekit.store.run import Run

Row = dict[str, Any]

LOWER_IS_BETTER = frozenset({"peak_memory", "energy_per_sample"})
"""Metrics that get worse as they grow; those in ns do too, all others do not."""

_PARTS = (
    "kernel_ns",
    "communication_ns",
    "graph_ns",
    "copy_ns",
    "fill_ns",
    "api_ns",
    "data_loading_ns",
    "other_cpu_ns",
    "idle_ns",
)


@dataclass(frozen=True)
class Metric:
    """A number of a whole run, with its unit."""

    measured: Measured
    unit: str


def metrics_of(run: Run, session: ModuleSession) -> dict[str, Metric]:
    """Return the metrics of a run that its capture has data for.

    `step_ns` and the parts of a step (`step_idle_ns`, ...) are means over the stable
    steps; times of several GPUs are added up, utilizations are ratios of such sums;
    those of the paper are means over the GPUs.
    """

    def ask(name: str) -> list[Row]:
        module = load_module(name)
        rows: list[Row] = session.run(module).table.to_pylist()
        return rows

    found = _usage(ask("gpu.utilization"))
    if run.manifest.rows("step"):
        stable = Scope(window=TimeWindow(WindowKind.STEPS))
        steps = session.run(load_module("steps.summary"), scope=stable).table
        found |= _steps([row for row in steps.to_pylist() if row["stable"]])
        parts = [row for row in ask("steps.breakdown") if row["stable"]]
        found |= _step_parts(parts)
    found |= _paper(ask("tbd.summary"))
    return found


def _usage(rows: list[Row]) -> dict[str, Metric]:
    if not rows:
        return {}
    window, kernel, gpu = (
        sum(row[name] for row in rows)
        for name in ("window_ns", "kernel_busy_ns", "gpu_busy_ns")
    )
    found = {
        "gpu_window_ns": _plain(max(row["window_ns"] for row in rows), "ns"),
        "kernel_busy_ns": _plain(kernel, "ns"),
        "gpu_busy_ns": _plain(gpu, "ns"),
    }
    if window:
        found["kernel_utilization"] = _plain(kernel / window, "1")
        found["gpu_utilization"] = _plain(gpu / window, "1")
    return found


def _steps(rows: list[Row]) -> dict[str, Metric]:
    durations = [row["duration_ns"] for row in rows]
    return {"step_ns": _repeated(durations)} if durations else {}


def _step_parts(rows: list[Row]) -> dict[str, Metric]:
    found = {}
    for part in _PARTS:
        values = [row[part] for row in rows if row[part] is not None]
        if any(values):
            found[f"step_{part}"] = _repeated(values)
    return found


def _paper(rows: list[Row]) -> dict[str, Metric]:
    values: dict[str, list[Row]] = {}
    for row in rows:
        of_class = row["memory_class"]
        name = row["metric"] if of_class is None else f"{row['metric']}.{of_class}"
        # Without steps its utilizations are those of gpu.utilization again.
        known = row["value"] is not None and not (
            row["window_name"] == "run" and name.endswith("_utilization")
        )
        if known:
            name = f"stable_{name}" if name in _OVER_STEPS else name
            values.setdefault(name, []).append(row)
    return {
        name: _plain(mean(row["value"] for row in own), own[0]["unit"])
        for name, own in values.items()
    }


_OVER_STEPS = ("kernel_utilization", "gpu_utilization")


def _plain(value: float, unit: str) -> Metric:
    return Metric(Measured(float(value)), unit)


def _repeated(values: list[int]) -> Metric:
    deviation = stdev(values) if len(values) > 1 else None
    return Metric(mean_of(mean(values), deviation, len(values)), "ns")
