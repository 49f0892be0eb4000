"""Traces and the results of asking them."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tracekit.query import Scope, load_module, run_module, run_sql
from tracekit.query.answer import Answer
from tracekit.query.scope import parse_window
from tracekit.schema import TABLES
from tracekit.store.manifest import Manifest
from tracekit.store.run import Run

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from tracekit.api.plots import Plots


class Result:
    """The rows of an answer; prints as a table.

    Attributes:
        membership: Which rows the window took, or None.
        reasons: Why the answer, or a part of it, is empty.
    """

    def __init__(self, answer: Answer) -> None:
        self._table = answer.table
        self.membership = answer.membership
        self.reasons = answer.reasons

    def to_arrow(self) -> "pa.Table":
        """Return the rows as an Arrow table."""
        return self._table

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows as a polars data frame."""
        import polars as pl

        frame = pl.from_arrow(self._table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame; pandas must be installed."""
        frame: pd.DataFrame = self._table.to_pandas()
        return frame

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        """Return the rows as a table for the terminal."""
        from tracekit.report.terminal import render, terminal_width

        notes = "".join(f"{reason}\n" for reason in self.reasons)
        return (render(self._table, width=terminal_width()) + notes).rstrip("\n")

    def _repr_html_(self) -> str:
        from tracekit.report.notebook import table_html

        return table_html(self._table, self.reasons)


class Trace:
    """One or several runs that are asked together."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = tuple(runs)

    def query(
        self,
        name: str,
        /,
        *,
        window: str | None = None,
        devices: int | Sequence[int] | None = None,
        ranks: int | Sequence[int] | None = None,
        processes: int | Sequence[int] | None = None,
        **parameters: object,
    ) -> Result:
        """Ask a query of the catalogue by its name.

        Args:
            name: Such as `kernels.hotspots`.
            window: `all`, `run`, `steps`, `FROM:TO` or `range:NAME`.
            devices: The device_id, or several, to which the answer is limited.
            ranks: The rank, or several, to which it is limited.
            processes: The process_id, or several, to which it is limited.
            **parameters: The query's own parameters.

        Raises:
            QueryError: There is no such query, device, rank, process or range, or a
                parameter does not fit.
            UsageError: There is no such window.
        """
        scope = Scope(
            window=None if window is None else parse_window(window),
            devices=_several(devices),
            ranks=_several(ranks),
            processes=_several(processes),
        )
        texts = {key: str(value) for key, value in parameters.items()}
        return Result(run_module(load_module(name), self.runs, texts, scope=scope))

    def sql(self, text: str) -> Result:
        """Run one SELECT on the tables and views; it can write nothing.

        Raises:
            QueryError: It is no SELECT, or does not work.
        """
        return Result(run_sql(text, self.runs))

    @cached_property
    def plot(self) -> "Plots":
        """The figures of a report: `trace.plot.kernels()` and others."""
        from tracekit.api.plots import Plots

        return Plots(self)

    @property
    def tables(self) -> Mapping[str, int]:
        """The number of rows of each table, over all runs."""
        return {
            name: sum(run.manifest.rows(name) for run in self.runs) for name in TABLES
        }

    @cached_property
    def info(self) -> tuple[Manifest, ...]:
        """The manifests of the runs."""
        return tuple(run.manifest for run in self.runs)

    def __repr__(self) -> str:
        """Return what the trace is made of."""
        named = ", ".join(run.run_id for run in self.runs)
        return f"<Trace {named}>"


def _several(numbers: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if numbers is None:
        return None
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)
