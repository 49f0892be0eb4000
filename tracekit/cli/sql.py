"""`tracekit sql`: one SELECT, or a shell of them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli.opening import open_runs
from tracekit.cli.options import (
    CsvSafe,
    Format,
    MemoryLimit,
    OutputFormat,
    Quiet,
    Verbose,
)
from tracekit.cli.output import write_result
from tracekit.errors import TracekitError, UsageError

if TYPE_CHECKING:
    from tracekit.query.engine import SqlSession


def sql(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar='"SELECT ..." RUN...',
            help="The statement, then runs or raw captures; with --shell only runs.",
        ),
    ],
    shell: Annotated[
        bool, typer.Option("--shell", help="Read statements, each ended by `;`.")
    ] = False,
    format_: OutputFormat = Format.TABLE,
    csv_safe: CsvSafe = False,
    memory_limit: MemoryLimit = "1GB",
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Run a SELECT on the tables of runs. It sees nothing else, and writes nothing."""
    from tracekit.query import Limits
    from tracekit.query.engine import SqlSession

    statement = "" if shell else arguments[0]
    paths = [Path(text) for text in (arguments if shell else arguments[1:])]
    if not paths:
        raise UsageError("no run was given", hint='tracekit sql "SELECT ..." RUN')
    runs = open_runs(paths, quiet=quiet)
    with SqlSession(runs, limits=Limits(memory=memory_limit)) as session:
        if shell:
            _shell(session, format_, csv_safe=csv_safe)
        else:
            write_result(session.run(statement).table, format_, csv_safe=csv_safe)


_HELP = """\
Statements are SELECTs, each ended by ;
  .tables         the tables and views, and how many rows they have
  .schema TABLE   the columns of one
  .help           this
  .quit           end, as Ctrl-D does"""


def _shell(session: "SqlSession", format_: Format, *, csv_safe: bool) -> None:
    """Answer statement after statement; an error ends none but its own."""
    interactive = sys.stdin.isatty()
    if interactive:
        typer.echo("End a statement with ; or type .help", err=True)
    pending = ""
    failed: TracekitError | None = None
    while True:
        line = _read_line("tracekit> " if not pending else "     ...> ", interactive)
        if line is None:
            break
        pending += line
        is_command = pending.lstrip().startswith(".")
        if not is_command and not pending.rstrip().endswith(";"):
            continue
        text, pending = pending, ""
        try:
            statement = _statement(text) if is_command else text
            if statement is None:
                break
            if statement:
                write_result(session.run(statement).table, format_, csv_safe=csv_safe)
        except TracekitError as error:
            typer.echo(f"Error: {error}", err=True)
            if error.hint:
                typer.echo(f"Hint: {error.hint}", err=True)
            failed = error
    if pending.strip():
        write_result(session.run(pending).table, format_, csv_safe=csv_safe)
    if failed is not None and not interactive:
        sys.exit(failed.exit_code)


def _statement(command: str) -> str | None:
    """Return the statement that a command of the shell stands for; None ends it.

    Raises:
        UsageError: There is no such command.
    """
    from tracekit.query.catalog import views
    from tracekit.query.tables import literal
    from tracekit.schema import TABLES

    word, *rest = command.strip().rstrip(";").split()
    if word in (".quit", ".exit"):
        return None
    if word == ".help":
        typer.echo(_HELP, err=True)
        return ""
    if word == ".tables":
        return " UNION ALL ".join(
            f"SELECT {literal(name)} AS name, count(*) AS rows FROM {name}"
            for name in (*TABLES, *sorted(view.name for view in views()))
        )
    if word == ".schema" and rest:
        return f"DESCRIBE {rest[0]}"
    raise UsageError(f"there is no command {word}", hint=".help names them")


def _read_line(prompt: str, interactive: bool) -> str | None:  # noqa: FBT001
    if not interactive:
        line = sys.stdin.readline()
        return line or None
    try:
        return input(prompt) + "\n"
    except EOFError:
        return None
