"""Runs SQL modules and ad-hoc SQL on runs."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from tracekit.errors import QueryError, TracekitError
from tracekit.query.answer import Answer
from tracekit.query.catalog import macros_of
from tracekit.query.known import check_distinct, check_known
from tracekit.query.module import QueryModule
from tracekit.query.needs import missing
from tracekit.query.scope import Scope
from tracekit.query.session import Limits, Session
from tracekit.query.window import Shown, check_scope, show_window
from tracekit.store.run import Run

_BATCH_ROWS = 65_536


def run_module(
    module: QueryModule,
    runs: Sequence[Run],
    parameters: dict[str, str] | None = None,
    *,
    scope: Scope | None = None,
    limits: Limits | None = None,
) -> Answer:
    """Run a module on each run, and on each rank by itself unless it compares them.

    Returns:
        The rows of all of them; `run_id` and `rank` come first where there are
        several runs or ranks.

    Raises:
        QueryError: A parameter, an option or the statement does not work.
    """
    with ModuleSession(runs, limits=limits) as session:
        return session.run(module, parameters, scope=scope)


class ModuleSession:
    """Modules on the same runs, one after another; a context manager."""

    def __init__(self, runs: Sequence[Run], *, limits: Limits | None = None) -> None:
        check_distinct(runs)
        self._runs = tuple(runs)
        self._session = Session(runs, limits or Limits())

    def __enter__(self) -> "ModuleSession":
        return self

    def __exit__(self, *error: object) -> None:
        self._session.close()

    def run(
        self,
        module: QueryModule,
        parameters: dict[str, str] | None = None,
        *,
        scope: Scope | None = None,
    ) -> Answer:
        """Run a module as `run_module` does.

        Raises:
            QueryError: A parameter, an option or the statement does not work.
        """
        scope = scope or Scope()
        runs = self._runs
        values = module.bind(parameters or {})
        check_scope(module, scope)
        check_known(runs, scope)
        several = len(runs) > 1 or any(len(run.ranks) > 1 for run in runs)
        tables: list[pa.Table] = []
        memberships: list[str] = []
        reasons: list[str] = []
        windows: list[Shown] = []
        _check_one_select(self._session, module)
        for run in runs:
            for ranks in _groups(run, module, scope):
                lacking = missing(module, run)
                if lacking is not None and module.columns:
                    shown, table = Shown(None), _empty(module)
                else:
                    shown = show_window(self._session, run, module, scope, ranks)
                    table = _run(self._session, module, values)
                windows.append(shown)
                for reason in (lacking, shown.unknown):
                    if reason is not None and reason not in reasons:
                        reasons.append(reason)
                if shown.membership is not None and shown.membership not in memberships:
                    memberships.append(shown.membership)
                if several:
                    rank = ranks[0] if len(ranks) == 1 else None
                    table = _with_source(table, run.run_id, rank)
                tables.append(table)
        # Who did not ask for steps learns from the answer that there are none, and a
        # range need not be in every rank.
        if scope.window is not None and all(shown.absent for shown in windows):
            raise QueryError(windows[0].absent or "", hint=windows[0].hint)
        if not tables:
            raise QueryError("the runs have no ranks")
        answer = pa.concat_tables(tables)
        if not answer.num_rows and not reasons:
            what = ", ".join(scope.options()) or "these runs"
            reasons.append(f"{module.name} finds nothing in {what}")
        return Answer(
            table=answer,
            membership="; ".join(memberships) or None,
            reasons=tuple(reasons),
        )


def run_sql(text: str, runs: Sequence[Run], *, limits: Limits | None = None) -> Answer:
    """Run one SELECT on the views of all runs; it can write nothing.

    The text goes through `query()`, which takes one SELECT statement and nothing
    that writes, inside of an expression or not.

    Raises:
        QueryError: It is no SELECT, or does not work.
    """
    with SqlSession(runs, limits=limits) as session:
        return session.run(text)


class SqlSession:
    """Ad-hoc SQL on runs, statement after statement; a context manager."""

    def __init__(self, runs: Sequence[Run], *, limits: Limits | None = None) -> None:
        check_distinct(runs)
        self._session = Session(runs, limits or Limits())
        try:
            self._session.show_all(runs)
        except BaseException:
            self._session.close()
            raise

    def __enter__(self) -> "SqlSession":
        return self

    def __exit__(self, *error: object) -> None:
        self._session.close()

    def run(self, text: str) -> Answer:
        """Run one SELECT.

        Raises:
            QueryError: It is no SELECT, or does not work.
        """
        statement = text.strip().rstrip(";").strip()
        if not statement:
            raise QueryError("there is no SQL to run")
        try:
            return Answer(_distinctly_named(self._relation(statement).to_arrow_table()))
        except duckdb.Error as error:
            raise QueryError(_first_lines(error), hint=_hint(error)) from error

    def stream(self, statement: str) -> pa.RecordBatchReader:
        """Run one SELECT of tracekit's own, and return its rows as they come.

        The next statement ends it.
        """
        return self._relation(statement).to_arrow_reader(_BATCH_ROWS)

    def _relation(self, statement: str) -> duckdb.DuckDBPyRelation:
        return self._session.connection.sql(
            "FROM query($text)", params={"text": statement}
        )


def _groups(run: Run, module: QueryModule, scope: Scope) -> list[tuple[int, ...]]:
    ranks = run.ranks
    if scope.ranks is not None:
        ranks = tuple(rank for rank in ranks if rank in scope.ranks)
    if not ranks:
        return []
    return [(rank,) for rank in ranks] if module.per_rank else [ranks]


def _empty(module: QueryModule) -> pa.Table:
    """Return the answer without rows, its columns as the header says."""
    return pa.schema(
        [pa.field(column.name, column.type.arrow) for column in module.columns]
    ).empty_table()


def _run(
    session: Session, module: QueryModule, values: dict[str, bool | int | float | str]
) -> pa.Table:
    session.make_macros(macros_of(module.sql))
    try:
        relation = session.connection.sql(module.sql, params=values or None)
        return _distinctly_named(relation.to_arrow_table())
    except duckdb.Error as error:
        raise QueryError(
            f"{module.name}: {_first_lines(error)}", hint=_hint(error)
        ) from error


def _with_source(table: pa.Table, run_id: str, rank: int | None) -> pa.Table:
    count = table.num_rows
    ranks = pa.array([rank] * count, pa.int32())
    if "rank" in table.column_names:
        ranks = table["rank"]
        table = table.drop_columns("rank")
    table = table.add_column(0, "rank", ranks)
    return table.add_column(0, "run_id", pa.array([run_id] * count, pa.string()))


def _distinctly_named(table: pa.Table) -> pa.Table:
    """Return the table with a number at names that an earlier column has.

    A join of two tables has many; a row of JSON, and a data frame, has none.
    """
    names: list[str] = []
    for name in table.column_names:
        number, free = 0, name
        while free in names:
            number += 1
            free = f"{name}_{number}"
        names.append(free)
    return table.rename_columns(names)


def _check_one_select(session: Session, module: QueryModule) -> None:
    """Refuse a module of the user's that is not one SELECT."""
    try:
        statements = session.connection.extract_statements(module.sql)
    except duckdb.Error as error:
        raise QueryError(f"{module.name}: {_first_lines(error)}") from error
    one = len(statements) == 1 and statements[0].type == duckdb.StatementType.SELECT
    if one:
        # A pragma counts as a SELECT in DuckDB 1.5, but can be no part of one.
        text = module.sql.rstrip().removesuffix(";")
        try:
            session.connection.extract_statements(f"FROM (\n{text}\n)")
        except duckdb.Error:
            one = False
    if not one:
        raise QueryError(f"{module.name} is not one SELECT statement")


def _first_lines(error: Exception) -> str:
    """Return DuckDB's message without the echo of the statement."""
    lines = []
    for line in str(error).splitlines():
        if line.startswith("LINE "):
            break
        if line.strip():
            lines.append(line.strip())
    text = " ".join(lines)
    return text.partition(": ")[2] or text


def _hint(error: Exception) -> str | None:
    text = str(error)
    if "Candidate" in text or "Did you mean" in text:
        return None
    if isinstance(error, duckdb.OutOfMemoryException):
        return "give it more: --memory-limit 4GB"
    if "SELECT statement" in text:
        return "tracekit sql takes one SELECT; it can read the runs and write nothing"
    if "disabled by configuration" in text:
        return "the SQL sees the tables of the given runs and nothing else"
    return None


__all__ = [
    "Limits",
    "ModuleSession",
    "SqlSession",
    "TracekitError",
    "missing",
    "run_module",
    "run_sql",
]
