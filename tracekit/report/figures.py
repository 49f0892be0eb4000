"""The figures of a report, each drawn from the answer to one query.

Bokeh draws them. Colors are those of Okabe and Ito, which people with any kind of color
vision tell apart; no figure says by color alone what its table does not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tracekit.report.cells import shorten, visible

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812 - it is a class

Row = dict[str, Any]

PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#999999",
    "#f0e442",
    "#7f7f7f",
    "#004949",
)
_HEIGHT = 300
# On a narrow screen a figure scrolls: beside long names no bar would be left.
_WIDTH = 560
_BAR = 24
_MOST_BARS = 15
_MOST_STEPS = 200
_LABEL = 44
_MS = 1e6


def draw(query: str, table: pa.Table) -> "Figure | None":
    """Return the figure of the answer to a query, or None where it has none."""
    make = FIGURES.get(query)
    if make is None or not table.num_rows:
        return None
    return make(table.to_pylist())


def _figure(title: str, **options: Any) -> "Figure":  # noqa: ANN401 - as Bokeh's
    from bokeh.plotting import figure

    made = figure(
        title=title,
        height=options.pop("height", _HEIGHT),
        sizing_mode="stretch_width",
        min_width=_WIDTH,
        tools=options.pop("tools", "xpan,xbox_zoom,xwheel_zoom,reset,save"),
        active_scroll=None,
        toolbar_location="above",
        background_fill_alpha=0,
        border_fill_alpha=0,
        **options,
    )
    made.toolbar.logo = None
    return made


def _hover(plot: "Figure", *tooltips: tuple[str, str]) -> None:
    from bokeh.models import HoverTool

    plot.add_tools(HoverTool(tooltips=list(tooltips), point_policy="follow_mouse"))


def _utilization_over_time(rows: Sequence[Row]) -> "Figure":
    origin = min(row["start_ns"] for row in rows)
    plot = _figure(
        "Part of the time in which kernels ran",
        x_axis_label="time (ms)",
        y_axis_label="kernel utilization",
        y_range=(0, 1.02),
    )
    for number, (name, own) in enumerate(_by_device(rows).items()):
        edges = [(row["start_ns"] - origin) / _MS for row in own]
        edges.append((own[-1]["end_ns"] - origin) / _MS)
        plot.quad(
            left=edges[:-1],
            right=edges[1:],
            bottom=0,
            top=[row["kernel_utilization"] for row in own],
            color=_color(number),
            alpha=0.85 if len(_by_device(rows)) == 1 else 0.5,
            line_color=None,
            legend_label=name,
        )
    _hover(plot, ("from", "@left{0.000} ms"), ("utilization", "@top{0.0 %}"))
    _legend(plot)
    return plot


def _step_times(rows: Sequence[Row]) -> "Figure":
    rows = rows[:_MOST_STEPS]
    plot = _figure(
        "Duration of each step; stable ones are filled",
        x_axis_label="step, in order",
        y_axis_label="ms",
    )
    for number, stable in enumerate((True, False)):
        own = [(i, row) for i, row in enumerate(rows) if bool(row["stable"]) is stable]
        if own:
            plot.vbar(
                x=[place for place, _ in own],
                top=[row["duration_ns"] / _MS for _, row in own],
                width=0.8,
                fill_color=_color(number) if stable else None,
                line_color=_color(number),
                hatch_pattern=None if stable else "/",
                hatch_color=_color(number),
                legend_label="stable" if stable else "not stable",
            )
    plot.y_range.update(start=0)
    _hover(plot, ("step", "@x"), ("duration", "@top{0.000} ms"))
    _legend(plot)
    return plot


def _step_breakdown(rows: Sequence[Row]) -> "Figure | None":
    parts = (
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
    rows = rows[:_MOST_STEPS]
    labels = [
        " ".join(
            str(row[key])
            for key in ("rank", "device_id", "step_index")
            if row.get(key) is not None
        )
        for row in rows
    ]
    # Bokeh stacks by name: labels that occur twice would fall onto each other.
    labels = [f"{place}: {label}" for place, label in enumerate(labels)]
    return _stacked("Parts of each step", labels, rows, parts, vertical=True)


def _kernel_hotspots(rows: Sequence[Row]) -> "Figure":
    return _bars(
        "Kernels by summed time",
        [row["kernel_name"] for row in rows],
        [row["total_ns"] / _MS for row in rows],
    )


def _kernel_categories(rows: Sequence[Row]) -> "Figure":
    total: dict[str, float] = {}
    for row in rows:
        total[row["category"]] = total.get(row["category"], 0) + row["total_ns"] / _MS
    ordered = sorted(total.items(), key=lambda item: -item[1])
    return _bars(
        "Kernel time by category",
        [name.replace("_", " ") for name, _ in ordered],
        [value for _, value in ordered],
    )


def _cpu_gpu_overlap(rows: Sequence[Row]) -> "Figure | None":
    parts = ("both_ns", "cpu_only_ns", "gpu_only_ns", "neither_ns")
    labels = [f"{place}: {_device(row)}" for place, row in enumerate(rows)]
    return _stacked(
        f"CPU and GPU at once, basis {rows[0]['basis']}", labels, rows, parts
    )


def _idle_attribution(rows: Sequence[Row]) -> "Figure | None":
    parts = (
        "copy_ns",
        "capture_artifact_ns",
        "synchronization_ns",
        "launch_in_flight_ns",
        "host_late_ns",
        "dependency_ns",
        "unknown_ns",
    )
    labels = [f"{place}: {_device(row)}" for place, row in enumerate(rows)]
    return _stacked("Why the GPU did not compute", labels, rows, parts)


def _launch_latency(rows: Sequence[Row]) -> "Figure":
    names = [f"{row['activity']} {row['api_name']}" for row in rows]
    return _bars(
        "Median time from call to start",
        names,
        [(row["latency_p50_ns"] or 0) / 1e3 for row in rows],
        unit="µs",
    )


def _roofline(rows: Sequence[Row]) -> "Figure | None":
    known = [row for row in rows if row["operations_per_byte"] and row["bound"]]
    if not known:
        return None
    plot = _figure(
        "Roofline: each kernel's operations",
        x_axis_type="log",
        y_axis_type="log",
        x_axis_label="operations a byte of device memory",
        y_axis_label="operations a second",
        tools="pan,box_zoom,wheel_zoom,reset,save",
    )
    for number, bound in enumerate(sorted({row["bound"] for row in known})):
        own = [row for row in known if row["bound"] == bound]
        plot.scatter(
            "x",
            "y",
            source=_source(
                x=[row["operations_per_byte"] for row in own],
                y=[row["operations_per_second"] for row in own],
                name=[_plain(row["kernel_name"]) for row in own],
                share=[row["roof_share"] for row in own],
            ),
            size=10,
            marker=("circle", "square", "triangle", "diamond")[number % 4],
            color=_color(number),
            legend_label=f"bound by {bound}",
        )
    _hover(plot, ("kernel", "@name"), ("of its roof", "@share{0.0 %}"))
    _legend(plot)
    return plot


def _communication(rows: Sequence[Row]) -> "Figure | None":
    labels = [f"{place}: {_device(row)}" for place, row in enumerate(rows)]
    return _stacked(
        "Communication of each GPU", labels, rows, ("overlapped_ns", "exposed_ns")
    )


FIGURES: Mapping[str, Callable[[Sequence[Row]], "Figure | None"]] = {
    "gpu.timeline": _utilization_over_time,
    "steps.summary": _step_times,
    "steps.breakdown": _step_breakdown,
    "kernels.hotspots": _kernel_hotspots,
    "kernels.by_category": _kernel_categories,
    "overlap.cpu_gpu": _cpu_gpu_overlap,
    "gpu.idle_attribution": _idle_attribution,
    "launches.latency": _launch_latency,
    "compute.roofline": _roofline,
    "overlap.comm_compute": _communication,
}
"""The queries that have a figure, and what draws it."""


def _bars(
    title: str, names: Sequence[str], values: Sequence[float], *, unit: str = "ms"
) -> "Figure":
    names = [_plain(name) for name in names[:_MOST_BARS]]
    values = list(values[:_MOST_BARS])
    labels = [f"{i + 1}. {shorten(name, _LABEL)}" for i, name in enumerate(names)]
    plot = _figure(
        title,
        height=110 + _BAR * len(labels),
        y_range=labels[::-1],
        x_axis_label=unit,
        tools="save",
    )
    plot.hbar(
        y="label",
        right="value",
        height=0.75,
        color=_color(0),
        source=_source(label=labels, value=values, name=names),
    )
    plot.x_range.update(start=0)
    _hover(plot, ("name", "@name"), (unit, "@value{0,0.000}"))
    return plot


def _stacked(
    title: str,
    labels: list[str],
    rows: Sequence[Row],
    parts: Sequence[str],
    *,
    vertical: bool = False,
) -> "Figure | None":
    shown = [part for part in parts if any(row.get(part) for row in rows)]
    if not shown:
        return None
    values = {part: [(row.get(part) or 0) / _MS for row in rows] for part in shown}
    names = [part.removesuffix("_ns").replace("_", " ") for part in shown]
    colors = [_color(number) for number in range(len(shown))]
    source = _source(label=labels, **values)
    if vertical:
        plot = _figure(title, x_range=labels, y_axis_label="ms")
        plot.xaxis.major_label_orientation = 0.9
        plot.vbar_stack(
            shown, x="label", width=0.8, color=colors, source=source, legend_label=names
        )
        plot.y_range.update(start=0)
    else:
        plot = _figure(
            title,
            height=130 + 40 * len(labels),
            y_range=labels[::-1],
            x_axis_label="ms",
            tools="save",
        )
        plot.hbar_stack(
            shown,
            y="label",
            height=0.6,
            color=colors,
            source=source,
            legend_label=names,
        )
        plot.x_range.update(start=0)
    _hover(plot, ("part", "$name"), ("ms", "@$name{0,0.000}"))
    _legend(plot)
    return plot


def _legend(plot: "Figure") -> None:
    if plot.legend:
        legend = plot.legend[0]
        plot.add_layout(legend, "right" if len(legend.items) > 2 else "above")
        legend.background_fill_alpha = 0
        legend.border_line_color = None


def _by_device(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_device(row), []).append(row)
    return found


def _device(row: Row) -> str:
    rank = f"rank {row['rank']} " if row.get("rank") is not None else ""
    run = f" of {row['run_id']}" if row.get("run_id") else ""
    return f"{rank}GPU {row['device_id']}{run}"


def _source(**columns: Sequence[object]) -> Any:  # noqa: ANN401 - Bokeh's own
    from bokeh.models import ColumnDataSource

    return ColumnDataSource(data={name: list(own) for name, own in columns.items()})


def _plain(text: str) -> str:
    """Return text that Bokeh takes for no TeX, which it would fetch MathJax for."""
    shown = visible(text)
    for mark in ("$$", "\\(", "\\["):
        shown = shown.replace(mark, f"{mark[0]}\u200b{mark[1]}")
    return shown


def _color(number: int) -> str:
    return PALETTE[number % len(PALETTE)]
