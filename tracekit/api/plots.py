"""The figures of a report, one by one: `trace.plot.<name>()`."""

from typing import TYPE_CHECKING

from tracekit.errors import QueryError
from tracekit.report.notebook import Plot

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracekit.api.trace import Result, Trace


class Plots:
    """Draws the answers of a trace; each takes the options of `Trace.query`."""

    def __init__(self, trace: "Trace") -> None:
        self._trace = trace

    def utilization(self, **options: object) -> Plot:
        """Draw the part of the time in which kernels ran, over time."""
        return self._draw("gpu.timeline", {"bins": 100, **options})

    def steps(self, **options: object) -> Plot:
        """Draw the duration of each step, the stable ones filled."""
        return self._draw("steps.summary", {"window": "all", **options})

    def step_breakdown(self, **options: object) -> Plot:
        """Draw what the time of each step went to."""
        return self._draw("steps.breakdown", options)

    def kernels(self, **options: object) -> Plot:
        """Draw the kernels that take most time."""
        return self._draw("kernels.hotspots", options)

    def categories(self, **options: object) -> Plot:
        """Draw kernel time by what kernels do."""
        return self._draw("kernels.by_category", options)

    def overlap(self, **options: object) -> Plot:
        """Draw in which part of the time CPU and GPU work at once."""
        return self._draw("overlap.cpu_gpu", options)

    def idle(self, **options: object) -> Plot:
        """Draw why each GPU did not compute."""
        return self._draw("gpu.idle_attribution", options)

    def launches(self, **options: object) -> Plot:
        """Draw the median time from call to start, by call."""
        return self._draw("launches.latency", options)

    def roofline(self, **options: object) -> Plot:
        """Draw each kernel's operations against the bytes it moves."""
        return self._draw("compute.roofline", {"limit": 0, **options})

    def communication(self, **options: object) -> Plot:
        """Draw how much of the communication is hidden behind other kernels."""
        return self._draw("overlap.comm_compute", options)

    def _draw(self, query: str, options: dict[str, object]) -> Plot:
        """Draw the answer to a query.

        Raises:
            QueryError: The trace has no data for it.
        """
        from tracekit.report.figures import draw

        ask: Callable[..., Result] = self._trace.query
        result = ask(query, **options)
        figure = draw(query, result.to_arrow())
        if figure is None:
            raise QueryError(
                "; ".join(result.reasons) or f"{query} has nothing to draw"
            )
        return Plot(figure)
