"""Says in three sentences what bounds a run, from the answers of its report."""

from collections.abc import Callable, Sequence

from tracekit.api.exhibits import Row, rows_of
from tracekit.report.cells import shorten
from tracekit.report.model import Exhibit

RowsOf = Callable[[str], list[Row]]

# From here on what the kernels do is the first thing to look at.
_BUSY = 0.8
_NAME = 100

_CAUSES = {
    "copy_ns": "copies and fills run without a kernel",
    "capture_artifact_ns": "the profiler itself holds things up",
    "synchronization_ns": "the host waits in synchronize calls instead of launching",
    "launch_in_flight_ns": "launch calls are still running: launches cost too much",
    "host_late_ns": "the host has not begun the next launch yet",
    "dependency_ns": "launched work waits for what it depends on",
    "unknown_ns": "the launches were not recorded, so the cause is unknown",
}


def verdict_of(run_id: str, exhibits: Sequence[Exhibit]) -> tuple[str, ...]:
    """Return the sentences: how busy the GPU was, what bounds it, where the time goes.

    Each rests on numbers of the report.
    """

    def rows(query: str) -> list[Row]:
        return rows_of(exhibits, query, run_id=run_id)

    usage = rows("gpu.utilization")
    if not usage:
        return (
            "No GPU work was recorded, so nothing can be said of how a GPU was used.",
        )
    kernel_ns = sum(row["kernel_busy_ns"] for row in usage)
    window_ns = sum(row["window_ns"] for row in usage)
    lower_bound = any(row["kernel_is_lower_bound"] for row in usage)
    busy_ns = sum(row["gpu_busy_ns"] for row in usage) if lower_bound else kernel_ns
    ratio = busy_ns / window_ns if window_ns else 0.0
    return (
        _how_busy(usage, ratio, lower_bound, rows("steps.stability")),
        _what_bounds(ratio, window_ns, rows("gpu.idle_attribution"), rows),
        _where(rows("kernels.by_category"), rows("kernels.hotspots")),
    )


def _how_busy(
    usage: Sequence[Row], ratio: float, lower_bound: object, stability: Sequence[Row]
) -> str:
    what = "Work of any kind" if lower_bound else "Kernels"
    devices = "the GPU" if len(usage) == 1 else f"the {len(usage)} GPUs"
    longest = max(row["window_ns"] for row in usage)
    step = ""
    known = [row for row in stability if row["median_ns"] is not None]
    if known:
        row = known[0]
        flagged = (
            " (too few, or too uneven, to tell stable ones)" if row["flagged"] else ""
        )
        step = (
            f"; the median of {row['stable_steps']} of {row['steps']} steps takes "
            f"{_time(row['median_ns'])}{flagged}"
        )
    return (
        f"{what} kept {devices} busy for {_percent(ratio)} of the {_time(longest)} "
        f"from first to last GPU activity{step}."
    )


def _what_bounds(
    ratio: float, window_ns: int, idle: Sequence[Row], rows: RowsOf
) -> str:
    exposed_ns = sum(row["exposed_ns"] for row in rows("overlap.comm_compute"))
    exposed = exposed_ns / window_ns if window_ns else 0.0
    if exposed >= 0.2:
        return (
            "It is bound by communication: for "
            f"{_percent(exposed)} of the time the GPU does nothing else."
        )
    if ratio >= _BUSY:
        return (
            f"It is bound by the GPU: only {_percent(1 - ratio)} of the time is left "
            "to be won by feeding it better, the rest is in the kernels."
        )
    causes = {name: sum(row[name] or 0 for row in idle) for name in _CAUSES if idle}
    total = sum(row["window_ns"] for row in idle)
    if not total or not any(causes.values()):
        return "Why the GPU did not compute the rest of the time is not recorded."
    name = max(causes, key=lambda cause: causes[cause])
    return (
        f"It is not bound by the GPU: in {_percent(causes[name] / total)} of the time "
        f"{_CAUSES[name]} ({name.removesuffix('_ns')}), the largest cause of idling."
    )


def _where(categories: Sequence[Row], hotspots: Sequence[Row]) -> str:
    kernel_ns = sum(row["total_ns"] for row in categories)
    if not kernel_ns or not hotspots:
        return "No kernel was recorded by itself, so where their time goes is unknown."
    by_name: dict[str, int] = {}
    for row in categories:
        by_name[row["category"]] = by_name.get(row["category"], 0) + row["total_ns"]
    category = max(by_name, key=lambda name: by_name[name])
    top = hotspots[0]
    return (
        f"Of the kernel time {_percent(by_name[category] / kernel_ns)} goes to "
        f"{category.replace('_', ' ')}, and {_percent(top['total_ns'] / kernel_ns)} "
        f"to {top['launches']:,} launches of {shorten(top['kernel_name'], _NAME)}."
    )


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"


def _time(ns: float) -> str:
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= factor:
            return f"{ns / factor:,.2f} {unit}"
    return f"{ns:,.0f} ns"
