"""Small random traces, and the instants that their intervals cover.

Times are few and small, so that intervals touch, nest, cross, coincide and have length
0 all the time, and a set of integers can stand for a union.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

Span = tuple[int, int]

LAST = 40
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
    """Rows of a run."""

    work: Sequence[Work]
    calls: Sequence[Call] = ()
    steps: Sequence[Span] = ()
    overhead: Sequence[Span] = ()
    more: dict[str, str] = field(default_factory=dict)

    def tables(self) -> dict[str, str]:
        """Return the rows as tables of text; those without rows are left out."""
        found = {
            activity: _text(
                "process_id, device_id, start_ns, end_ns, correlation_id"
                + (", name" if activity == "kernel" else ""),
                (
                    (w.process, w.device, *w.span, w.correlation)
                    + ((w.name,) if activity == "kernel" else ())
                    for w in self.work
                    if w.activity == activity
                ),
            )
            for activity in ("kernel", "memcpy", "memset", "graph_launch")
        }
        found["api_call"] = _text(
            "process_id, thread_id, start_ns, end_ns, name, correlation_id",
            ((c.process, c.thread, *c.span, c.name, c.correlation) for c in self.calls),
        )
        found["step"] = _text(
            "process_id, step_index, start_ns, end_ns",
            ((0, index, *span) for index, span in enumerate(self.steps)),
        )
        found["overhead"] = _text(
            "process_id, start_ns, end_ns", ((0, *span) for span in self.overhead)
        )
        return {name: text for name, text in found.items() if "\n" in text} | self.more


def covered(found: Iterable[Span]) -> set[int]:
    """Return the instants that half-open intervals cover."""
    return {ns for start, end in found for ns in range(start, end)}


def work(
    activities: Sequence[str] = ("kernel", "memcpy", "memset"),
    *,
    processes: int = 1,
    devices: int = 1,
    names: Sequence[str] = ("gemm",),
) -> st.SearchStrategy[list[Work]]:
    """Draw some work of the GPU, at least one interval."""
    return st.lists(
        st.builds(
            Work,
            st.sampled_from(activities),
            st.integers(0, processes - 1),
            st.integers(0, devices - 1),
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
