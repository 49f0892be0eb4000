"""Chooses the stretch of a run that a report draws over time, and asks for it."""

from collections.abc import Sequence

from tracekit.api.exhibits import Row, rows_of
from tracekit.query import Limits, ModuleSession, Scope, load_module
from tracekit.query.scope import parse_window
from tracekit.report.model import Exhibit, Slices
from tracekit.store.run import Run

_MOST_RANKS = 4
_MOST_SLICES = 9_000


def slices_of(
    run: Run, exhibits: Sequence[Exhibit], *, limits: Limits | None = None
) -> list[Slices]:
    """Return the step nearest to the median of each of the first ranks of a run.

    Where no steps are known it is the whole run.
    """
    found = []
    module = load_module("timeline.slices")
    ranks = run.ranks[:_MOST_RANKS]
    given = {"limit": str(_MOST_SLICES // max(len(ranks), 1))}
    with ModuleSession([run], limits=limits) as session:
        for rank in ranks:
            title, window = _stretch(session, run, rank, exhibits)
            scope = Scope(
                window=None if window is None else parse_window(window), ranks=(rank,)
            )
            table = session.run(module, given, scope=scope).table
            if not table.num_rows:
                continue
            found.append(
                Slices(
                    run_id=run.run_id,
                    rank=rank if len(run.ranks) > 1 else None,
                    title=title,
                    start_ns=min(table["start_ns"].to_pylist()),
                    end_ns=max(table["end_ns"].to_pylist()),
                    table=table,
                )
            )
    return found


def _stretch(
    session: ModuleSession, run: Run, rank: int, exhibits: Sequence[Exhibit]
) -> tuple[str, str | None]:
    steps = rows_of(exhibits, "steps.summary", run_id=run.run_id, rank=rank)
    if steps:
        stable = [row for row in steps if row["stable"]] or steps
        step = _median(stable)
        end = max(step["end_ns"], step["gpu_end_ns"] or 0)
        return f"step {step['step_index']}", f"{step['start_ns']}:{end}"
    detected = session.run(
        load_module("steps.detect"), scope=Scope(ranks=(rank,))
    ).table.to_pylist()
    if detected:
        step = _median(detected)
        return (
            f"step {step['step']}, found from the repetition of kernels",
            f"{step['start_ns']}:{step['end_ns']}",
        )
    return "the whole run", None


def _median(steps: Sequence[Row]) -> Row:
    """Return the step whose duration is the (lower) median."""
    ordered = sorted(steps, key=lambda row: row["duration_ns"])
    return ordered[(len(ordered) - 1) // 2]
