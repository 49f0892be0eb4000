"""What a report says, before it is written in any form.

A report is a list of sections, a section a list of exhibits, an exhibit the answer to
one query. HTML, Markdown and JSON are three ways to write the same report, so their
numbers are the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True)
class Exhibit:
    """The answer to one query as a report shows it.

    Attributes:
        query: Name of the query.
        title: What a reader looks for in it.
        parameters: The parameters that were given, as text.
        window: The window that was given, or None.
        table: The rows.
        total_rows: Rows of the whole answer, of which the table has the first.
        membership: Which rows the window took, or None.
        reasons: Why the answer, or a part of it, is empty.
        meaning: What each column says, by its name.
    """

    query: str
    title: str
    table: pa.Table
    parameters: Mapping[str, str] = field(default_factory=dict)
    window: str | None = None
    total_rows: int = 0
    membership: str | None = None
    reasons: tuple[str, ...] = ()
    meaning: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command line that answers the same, but for the run."""
        given = "".join(f" -p {key}={value}" for key, value in self.parameters.items())
        window = f" --window {self.window}" if self.window else ""
        return f"tracekit query {self.query} RUN{given}{window}"


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes:
        key: Short name, which is its anchor too.
        title: Its heading.
        about: What it says, in a sentence or two.
        exhibits: The answers that have rows.
        wanting: What was not recorded, and what would record it.
    """

    key: str
    title: str
    about: str
    exhibits: tuple[Exhibit, ...] = ()
    wanting: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFacts:
    """What was measured: name and value of each fact of one run."""

    run_id: str
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Verdict:
    """What bounds a run, in three sentences with their numbers."""

    run_id: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Slices:
    """The activities of one stretch of a run, to be drawn over time.

    Attributes:
        run_id: The run.
        rank: Its rank, or None where the run has one alone.
        title: Which stretch it is.
        start_ns: Where the stretch begins, on the rank's clock.
        end_ns: Where it ends.
        table: The rows of `timeline.slices`.
    """

    run_id: str
    rank: int | None
    title: str
    start_ns: int
    end_ns: int
    table: pa.Table


@dataclass(frozen=True)
class Report:
    """Everything that a report says.

    Attributes:
        title: Its heading.
        runs: What was measured.
        verdicts: What bounds each run.
        sections: Its parts, in order.
        timelines: One stretch of each run.
    """

    title: str
    runs: tuple[RunFacts, ...]
    verdicts: tuple[Verdict, ...]
    sections: tuple[Section, ...]
    timelines: tuple[Slices, ...] = ()

    def exhibits(self) -> Iterator[Exhibit]:
        """Yield the exhibits of all sections."""
        for section in self.sections:
            yield from section.exhibits
