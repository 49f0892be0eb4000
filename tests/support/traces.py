"""Small random traces, and the instants that their intervals cover.

Times are few and small, so that intervals touch, nest, cross, coincide and have length
0 all the time, and a set of integers can stand for a union. Many traces go into one
run, each on processes and devices of its own, since a run and a query take much longer
than a trace.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

Span = tuple[int, int]

LAST = 40
TRACES = 12
# A trace's processes, threads and devices are 0 and 1; in a run the next ones follow.
_EACH = 2

on_random_traces = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # a run is too large to shrink
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
    derandomize=True,
)

spans = st.builds(
    lambda start, length: (start, start + length),
    st.integers(0, LAST),
    st.integers(0, 12),
)


@dataclass(frozen=True)
class Work:
    """An interval of the GPU: activity is kernel, memcpy, memset or graph_launch."""

    activity: str
    process: int
    device: int
    span: Span
    name: str = "gemm"
    correlation: int | None = None


@dataclass(frozen=True)
class Call:
    """An API call."""

    process: int
    thread: int
    span: Span
    name: str = "cudaLaunchKernel"
    correlation: int | None = None


@dataclass(frozen=True)
class Trace:
    """What two processes did on two GPUs; steps and overhead are those of process 0."""

    work: Sequence[Work]
    calls: Sequence[Call] = ()
    steps: Sequence[Span] = ()
    overhead: Sequence[Span] = ()

    def on(self, device: int, *activities: str, name: str | None = None) -> set[int]:
        """Return the instants in which work of these kinds ran on a device."""
        return covered(
            w.span
            for w in self.work
            if w.device == device
            and w.activity in activities
            and name in (w.name, None)
        )

    def window(self, device: int) -> range:
        """Return the instants from the first to the last work on a device."""
        mine = [w.span for w in self.work if w.device == device]
        return range(min(start for start, _ in mine), max(end for _, end in mine))

    @property
    def devices(self) -> list[int]:
        """The devices that something ran on."""
        return sorted({w.device for w in self.work})


def many(trace: st.SearchStrategy[Trace]) -> st.SearchStrategy[list[Trace]]:
    """Draw the traces of one run."""
    return st.lists(trace, min_size=TRACES, max_size=TRACES)


def tables(traces: Sequence[Trace]) -> dict[str, str]:
    """Return the rows of a run as tables of text; those without rows are left out."""
    at = [(_EACH * number, trace) for number, trace in enumerate(traces)]
    found = {
        activity: _text(
            "process_id, device_id, start_ns, end_ns, correlation_id"
            + (", name" if activity == "kernel" else ""),
            (
                (base + w.process, base + w.device, *w.span, w.correlation)
                + ((w.name,) if activity == "kernel" else ())
                for base, trace in at
                for w in trace.work
                if w.activity == activity
            ),
        )
        for activity in ("kernel", "memcpy", "memset", "graph_launch")
    }
    found["api_call"] = _text(
        "process_id, thread_id, start_ns, end_ns, name, correlation_id",
        (
            (base + c.process, base + c.thread, *c.span, c.name, c.correlation)
            for base, trace in at
            for c in trace.calls
        ),
    )
    found["step"] = _text(
        "process_id, step_index, start_ns, end_ns",
        (
            (base, index, *span)
            for base, trace in at
            for index, span in enumerate(trace.steps)
        ),
    )
    found["overhead"] = _text(
        "process_id, start_ns, end_ns",
        ((base, *span) for base, trace in at for span in trace.overhead),
    )
    return {name: text for name, text in found.items() if "\n" in text}


def trace_of(traces: Sequence[Trace], device: int) -> tuple[Trace, int]:
    """Return the trace of a run's device (or process), and its number in the trace."""
    return traces[device // _EACH], device % _EACH


def covered(found: Iterable[Span]) -> set[int]:
    """Return the instants that half-open intervals cover."""
    return {ns for start, end in found for ns in range(start, end)}


def work(
    activities: Sequence[str] = ("kernel", "memcpy", "memset"),
    names: Sequence[str] = ("gemm",),
) -> st.SearchStrategy[list[Work]]:
    """Draw some work of two processes on two GPUs, at least one interval."""
    return st.lists(
        st.builds(
            Work,
            st.sampled_from(activities),
            st.integers(0, 1),
            st.integers(0, 1),
            spans,
            st.sampled_from(names),
        ),
        min_size=1,
        max_size=8,
    )


def disjoint_spans(max_size: int = 3) -> st.SearchStrategy[list[Span]]:
    """Draw intervals that do not overlap; they may touch or be empty."""
    edges = st.lists(st.integers(0, LAST + 10), min_size=2, max_size=2 * max_size)
    return edges.map(
        lambda times: list(zip(sorted(times)[::2], sorted(times)[1::2], strict=False))
    )


def _text(columns: str, rows: Iterable[Sequence[object]]) -> str:
    lines = [columns]
    for row in rows:
        lines.append(", ".join("NULL" if cell is None else str(cell) for cell in row))
    return "\n".join(lines)
