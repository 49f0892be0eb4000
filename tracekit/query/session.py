"""A DuckDB connection that sees the given runs and nothing else.

Files are read only below the runs' folders, no setting can be changed, and no
extension is loaded. What is left to refuse, a statement that writes, is refused by the
ways in which text is run: `tracekit.query.engine`.
"""

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from tracekit.errors import QueryError
from tracekit.query.catalog import macros, macros_of, views
from tracekit.query.sequential import register
from tracekit.query.tables import literal, no_glob, select_rows
from tracekit.schema import TABLES
from tracekit.store.run import Run


@dataclass(frozen=True)
class Limits:
    """What a query may use.

    Attributes:
        memory: Memory before it spills to disk, such as `1GB`.
        threads: Threads, or None for one a core.
    """

    memory: str = "1GB"
    threads: int | None = None


class Session:
    """A connection; a context manager.

    The macros that a statement calls are made before it is run: to make all of them
    takes longer than most queries do.

    Args:
        runs: The runs whose files may be read.
        limits: What may be used.
    """

    def __init__(self, runs: Sequence[Run], limits: Limits) -> None:
        self._macros: set[str] = set()
        # Of which run and ranks a view is, by schema and name.
        self._shown: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {}
        self._spill = tempfile.mkdtemp(prefix="tracekit-spill-")
        self.connection = duckdb.connect()
        try:
            self._configure(runs, limits)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and remove what it spilled."""
        self.connection.close()
        shutil.rmtree(self._spill, ignore_errors=True)

    def execute(self, sql: str) -> None:
        """Run a statement of tracekit's own."""
        self.make_macros(macros_of(sql))
        self.connection.execute(sql)

    def make_macros(self, names: Iterable[str]) -> None:
        """Make the macros of these names, in order: those call others before them."""
        wanted = {*names} - self._macros
        for name, text in macros().items():
            if name in wanted:
                self.connection.execute(text)
        self._macros |= wanted

    def show_rank(self, run: Run, ranks: Sequence[int], names: Iterable[str]) -> None:
        """Make `recorded.<name>` for tables and views, of some ranks of one run."""
        self._show("recorded", run, ranks, names, ", {rank}::INTEGER AS rank")

    def show_all(self, runs: Sequence[Run]) -> None:
        """Make every table, view and macro, of all runs, with run_id and rank."""
        self.make_macros(macros())
        for name, table in TABLES.items():
            selects = [
                select_rows(
                    run,
                    table,
                    run.ranks,
                    f", {literal(run.run_id)} AS run_id, {{rank}}::INTEGER AS rank",
                )
                for run in runs
            ]
            self.execute(f"CREATE VIEW main.{name} AS {' UNION ALL '.join(selects)}")
        parts: dict[str, list[str]] = {view.name: [] for view in views()}
        for number, run in enumerate(runs):
            for rank in run.ranks:
                schema = f"run{number}_rank{rank}"
                self.execute(f"CREATE SCHEMA {schema}")
                self._show(schema, run, (rank,), parts, "")
                for name, selects in parts.items():
                    selects.append(
                        f"SELECT *, {literal(run.run_id)} AS run_id,"
                        f" {rank}::INTEGER AS rank FROM {schema}.{name}"
                    )
        for name, selects in parts.items():
            self.execute(f"CREATE VIEW main.{name} AS {' UNION ALL '.join(selects)}")

    def _show(
        self,
        schema: str,
        run: Run,
        ranks: Sequence[int],
        names: Iterable[str],
        extra: str,
    ) -> None:
        # To make a view takes as long as to plan a query of it: those that the module
        # before has asked for are there.
        of = (str(run.path), tuple(ranks))
        wanted = {
            name for name in with_reads(names) if self._shown.get((schema, name)) != of
        }
        for name, table in TABLES.items():
            if name in wanted:
                rows = select_rows(run, table, ranks, extra)
                self.execute(f"CREATE OR REPLACE VIEW {schema}.{name} AS {rows}")
        for view in views():
            if view.name in wanted:
                sql = view.sql.replace("recorded.", f"{schema}.").rstrip(";")
                self.execute(f"CREATE OR REPLACE VIEW {schema}.{view.name} AS {sql}")
        self._shown |= {(schema, name): of for name in wanted}

    def _configure(self, runs: Sequence[Run], limits: Limits) -> None:
        # The engine checks a path as it is written and as it is found: files in a
        # folder with a `[` in its name are read by a pattern.
        places = {str(run.path.absolute()) for run in runs}
        places |= {no_glob(place) for place in places}
        folders = ", ".join(literal(place) for place in sorted(places))
        try:
            self.execute(f"SET memory_limit = {literal(limits.memory)}")
        except duckdb.Error as error:
            raise QueryError(
                f"`{limits.memory}` is no memory limit", hint="such as 500MB or 4GB"
            ) from error
        if limits.threads is not None:
            self.execute(f"SET threads = {limits.threads}")
        # Below these estimates a join compares all pairs, and the estimates of
        # what windows and macros return are far too low.
        self.execute("SET asof_loop_join_threshold = 0")
        self.execute("SET nested_loop_join_threshold = 0")
        self.execute(f"SET temp_directory = {literal(self._spill)}")
        # Neither secrets nor the home folder of the user are for the SQL to see.
        self.execute(f"SET home_directory = {literal(self._spill)}")
        self.execute(f"SET secret_directory = {literal(self._spill)}")
        self.execute("SET allow_persistent_secrets = false")
        self.execute("SET autoinstall_known_extensions = false")
        self.execute("SET autoload_known_extensions = false")
        self.execute(f"SET allowed_directories = [{folders}]")
        self.execute("SET enable_external_access = false")
        self.execute("SET lock_configuration = true")
        register(self.connection)
        self.execute("CREATE SCHEMA recorded")


def with_reads(names: Iterable[str]) -> frozenset[str]:
    """Return the names and all tables and views that those views read."""
    reads = {view.name: view.reads for view in views()}
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += reads.get(name, ())
    return frozenset(found)


def fetch(session: Session, sql: str, values: dict[str, object]) -> pa.Table:
    """Run a statement and return its rows as an Arrow table."""
    session.make_macros(macros_of(sql))
    relation = session.connection.sql(sql, params=values or None)
    if relation is None:
        raise QueryError("the statement returns no rows")
    return relation.to_arrow_table()
