"""Makes the report of runs: asks the queries of each section."""

from collections.abc import Sequence

import pyarrow as pa

from tracekit.api.facts import facts_of
from tracekit.api.sections import OUTLINE, Asked, Outline
from tracekit.api.stretches import slices_of
from tracekit.api.verdict import verdict_of
from tracekit.query import (
    Limits,
    ModuleSession,
    QueryModule,
    Scope,
    load_module,
    missing,
    module_names,
)
from tracekit.query.scope import parse_window
from tracekit.report.model import Exhibit, Report, RunFacts, Section, Verdict
from tracekit.store.run import Run

MOST_ROWS = 500
"""Rows of an answer that a report shows; a query gives all."""


def make_report(runs: Sequence[Run], *, limits: Limits | None = None) -> Report:
    """Ask everything that a report says of the runs.

    Args:
        runs: The runs; several are shown side by side.
        limits: What a query may use.

    Raises:
        QueryError: A query does not work.
    """
    with ModuleSession(runs, limits=limits) as session:
        sections = tuple(_section(outline, session, runs) for outline in OUTLINE)
        exhibits = [exhibit for section in sections for exhibit in section.exhibits]
        return Report(
            title=" and ".join(run.manifest.name for run in runs),
            runs=tuple(RunFacts(run.run_id, facts_of(run)) for run in runs),
            verdicts=tuple(
                Verdict(run.run_id, verdict_of(run.run_id, exhibits)) for run in runs
            ),
            sections=sections,
            timelines=tuple(
                slices
                for run in runs
                for slices in slices_of(run, exhibits, limits=limits)
            ),
        )


def _section(outline: Outline, session: ModuleSession, runs: Sequence[Run]) -> Section:
    exhibits: list[Exhibit] = []
    wanting: list[str] = []
    listed = _queries(outline)
    work = max(
        run.manifest.rows("kernel") + run.manifest.rows("api_call") for run in runs
    )
    if outline.most_rows is not None and work > outline.most_rows:
        wanting += [
            f"{asked.query} takes too long on {work:,} kernels and calls: ask it of a "
            f"part, tracekit query {asked.query} RUN --window FROM:TO"
            for asked in listed
            if asked not in outline.asked
        ]
        listed = [asked for asked in listed if asked in outline.asked]
    for asked in listed:
        exhibit = answer(asked, session, runs)
        if exhibit.table.num_rows:
            exhibits.append(exhibit)
        wanting += [reason for reason in exhibit.reasons if reason not in wanting]
    if not exhibits and outline.collect:
        wanting.append(f"{outline.collect}.")
    return Section(
        outline.key, outline.title, outline.about, tuple(exhibits), tuple(wanting)
    )


def _queries(outline: Outline) -> list[Asked]:
    """Return the queries of a section: those named, and the rest of its areas."""
    known = module_names()
    asked = [query for query in outline.asked if query.query in known]
    named = {query.query for query in asked}
    for name in known:
        if name.partition(".")[0] in outline.areas and name not in named:
            module = load_module(name)
            if not any(parameter.required for parameter in module.parameters):
                asked.append(Asked(name, module.summary))
    return asked


def answer(asked: Asked, session: ModuleSession, runs: Sequence[Run]) -> Exhibit:
    """Return the answer to a query as a report shows it."""
    module = load_module(asked.query)
    meaning = {column.name: column.help for column in module.columns}
    absent = [missing(module, run) for run in runs]
    if all(absent):
        # A query without its data is empty, and that is known without asking it.
        return Exhibit(
            query=asked.query,
            title=asked.title,
            table=_empty(module),
            parameters=asked.parameters,
            window=asked.window,
            reasons=tuple(dict.fromkeys(reason for reason in absent if reason)),
            meaning=meaning,
        )
    window = None if asked.window is None else parse_window(asked.window)
    found = session.run(module, dict(asked.parameters), scope=Scope(window=window))
    return Exhibit(
        query=asked.query,
        title=asked.title,
        table=found.table.slice(0, MOST_ROWS),
        parameters=asked.parameters,
        window=asked.window,
        total_rows=found.table.num_rows,
        membership=found.membership,
        reasons=found.reasons,
        meaning=meaning,
    )


def _empty(module: QueryModule) -> pa.Table:
    fields = [pa.field(column.name, column.type.arrow) for column in module.columns]
    return pa.schema(fields).empty_table()
