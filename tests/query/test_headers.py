"""Every SQL module: what its header says is the truth."""

import re
from pathlib import Path

import duckdb
import pytest

from tests.conftest import MakeRun
from tracekit.query import Limits, Scope, load_module, module_names
from tracekit.query.catalog import load_file, macros, macros_of, views
from tracekit.query.module import NOTHING, Membership
from tracekit.query.sequential import register
from tracekit.query.session import Session, with_reads
from tracekit.query.window import _VIEWS, TIME_WINDOW, show_window
from tracekit.schema import TABLES

TESTS = Path(__file__).parent


def tables_in(sql: str) -> set[str]:
    """Return the tables that a statement names.

    Parameters are not bound here, and columns have no types: NULL stands in for the
    ones, and ASOF, which looks at the types of its condition, is left out.
    """

    def plain(text: str) -> str:
        return re.sub(r"\bASOF\b", "", text)

    with duckdb.connect() as connection:
        register(connection)
        for text in macros().values():
            connection.execute(plain(text))
        named = connection.get_table_names(re.sub(r"\$\w+", "NULL", plain(sql)))
    return {table.removeprefix("recorded.") for table in named}


@pytest.mark.parametrize("name", module_names())
def test_header_parameters_are_those_of_the_statement(name: str) -> None:
    module = load_module(name)
    with duckdb.connect() as connection:
        (statement,) = connection.extract_statements(module.sql)
    assert statement.type == duckdb.StatementType.SELECT
    assert {p.name for p in module.parameters} == set(statement.named_parameters)


@pytest.mark.parametrize("name", module_names())
def test_columns_on_empty_tables_are_those_of_the_header(
    name: str, run_of: MakeRun
) -> None:
    module = load_module(name)
    run = run_of()
    with Session([run], Limits()) as session:
        show_window(session, run, module, Scope(), (0,))
        session.make_macros(macros_of(module.sql))
        session.connection.execute(module.sql, module.bind({}))
        described = session.connection.description
    assert described is not None
    found = [(column[0], str(column[1])) for column in described]
    assert found == [(column.name, column.type.value) for column in module.columns]


@pytest.mark.parametrize("name", module_names())
def test_reads_are_the_tables_that_the_statement_names(name: str) -> None:
    module = load_module(name)
    known = TABLES.keys() | {view.name for view in views()} | {TIME_WINDOW}
    listed = {read.table for read in module.reads}
    assert listed <= known
    assert tables_in(module.sql) & known == listed


@pytest.mark.parametrize("name", module_names())
def test_needs_are_tables_and_columns_that_it_reads(name: str) -> None:
    module = load_module(name)
    read = with_reads(read.table for read in module.reads)
    for need in "|".join(module.needs).split("|"):
        if need in ("", NOTHING):
            continue
        table, _, column = need.partition(".")
        assert table in read
        assert not column or column in TABLES[table].column_names


@pytest.mark.parametrize("name", module_names())
def test_header_describes_every_column_and_parameter(name: str) -> None:
    module = load_module(name)
    assert module.summary
    assert module.columns
    for text in [
        *(column.help for column in module.columns),
        *(parameter.help for parameter in module.parameters),
    ]:
        assert len(text) > 3
        assert text.endswith("."), text


@pytest.mark.parametrize("name", module_names())
def test_rows_are_in_a_total_order(name: str) -> None:
    assert re.search(r"\bORDER BY\b", load_module(name).sql), "no ORDER BY"


@pytest.mark.parametrize("name", module_names())
def test_query_has_a_test_of_its_own(name: str) -> None:
    assert (TESTS / f"test_{name.replace('.', '_')}.py").is_file()


def test_views_read_what_they_say() -> None:
    known = TABLES.keys() | {view.name for view in views()}
    for view in views():
        assert tables_in(view.sql) & known == set(view.reads), view.name


@pytest.mark.parametrize("name", sorted(_VIEWS))
def test_views_have_the_columns_a_scope_asks_for(name: str, run_of: MakeRun) -> None:
    run = run_of()
    with Session([run], Limits()) as session:
        session.show_rank(run, (0,), [name])
        found = session.connection.sql(f"FROM recorded.{name}").columns
    assert set(_VIEWS[name]) <= set(found)


def test_macros_load() -> None:
    with duckdb.connect() as connection:
        for text in macros().values():
            connection.execute(text)


def test_macros_call_those_that_stand_before_them() -> None:
    # DuckDB 1.5 looks for them when a macro is made.
    made: set[str] = set()
    for name, text in macros().items():
        assert macros_of(text) - {name} <= made, name
        made.add(name)


def test_a_file_of_the_users_is_a_module(tmp_path: Path) -> None:
    file = tmp_path / "mine.sql"
    file.write_text(
        "-- mine.longest: the longest kernel.\n"
        "--\n"
        "-- reads:\n"
        "--   kernel  rows\n"
        "-- columns:\n"
        "--   longest_ns  BIGINT  Its duration.\n"
        "\n"
        "SELECT max(end_ns - start_ns) AS longest_ns FROM kernel;\n"
    )
    module = load_file(file)
    assert module.name == "mine.longest"
    assert module.reads[0].membership is Membership.ROWS
