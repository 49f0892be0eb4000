"""`tracekit query`: answers from the catalogue."""

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
from tracekit.cli.output import note, write_result, write_text
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.query import QueryModule


def query(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE.sql]", help="The query.", show_default=False
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            readable=False,
            metavar="RUN...",
            help="Runs or raw captures.",
            show_default=False,
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="KEY=VALUE", help="A parameter."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window", metavar="WINDOW", help="all, run, steps, FROM:TO or range:NAME."
        ),
    ] = None,
    device: Annotated[
        list[int] | None, typer.Option(help="Limit to a device_id; may be repeated.")
    ] = None,
    rank: Annotated[
        list[int] | None, typer.Option(help="Limit to a rank; may be repeated.")
    ] = None,
    process: Annotated[
        list[int] | None, typer.Option(help="Limit to a process_id; may be repeated.")
    ] = None,
    format_: OutputFormat = Format.TABLE,
    csv_safe: CsvSafe = False,
    memory_limit: MemoryLimit = "1GB",
    list_: Annotated[bool, typer.Option("--list", help="Name the queries.")] = False,
    describe: Annotated[
        bool, typer.Option("--describe", help="Say what the query means.")
    ] = False,
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Ask a query of the catalogue, or one of your own in a file."""
    from tracekit.query import Limits, Scope, run_module
    from tracekit.query.scope import parse_window

    if list_:
        _list(name)
        return
    if name is None:
        raise UsageError(
            "no query was named", hint="tracekit query --list names the queries"
        )
    module = _module(name)
    if describe:
        write_text(_describe(module))
        return
    if not runs:
        raise UsageError(
            f"no run was given for {name}", hint=f"tracekit query {name} RUN"
        )
    answer = run_module(
        module,
        open_runs(runs, quiet=quiet),
        _parameters(parameter or []),
        scope=Scope(
            window=None if window is None else parse_window(window),
            devices=None if not device else tuple(device),
            ranks=None if not rank else tuple(rank),
            processes=None if not process else tuple(process),
        ),
        limits=Limits(memory=memory_limit),
    )
    write_result(answer.table, format_, csv_safe=csv_safe)
    for reason in answer.reasons:
        typer.echo(reason, err=True)
    if answer.membership is not None and format_ is Format.TABLE:
        note(f"Window: {answer.membership}", quiet=quiet)


def _module(name: str) -> "QueryModule":
    from tracekit.query import load_module
    from tracekit.query.catalog import load_file

    if name.endswith(".sql") or "/" in name:
        return load_file(Path(name))
    return load_module(name)


def _list(prefix: str | None) -> None:
    from tracekit.query import load_module, module_names

    names = [n for n in module_names() if prefix is None or n.startswith(prefix)]
    width = max((len(name) for name in names), default=0)
    lines = [f"{name:<{width}}  {load_module(name).summary}" for name in names]
    if lines:
        write_text("\n".join(lines))


def _parameters(given: list[str]) -> dict[str, str]:
    parameters = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"`{text}` is no parameter", hint="-p key=value")
        parameters[key] = value
    return parameters


def _describe(module: "QueryModule") -> str:
    lines = [f"{module.name}: {module.summary}", ""]
    if module.description:
        lines += [module.description, ""]
    reads = ", ".join(f"{r.table} ({r.membership.value})" for r in module.reads)
    lines += [f"Reads: {reads}", ""]
    if module.parameters:
        lines.append("Parameters:")
        lines += [
            f"  {parameter.name}  {parameter.describe()}  {parameter.help}"
            for parameter in module.parameters
        ]
        lines.append("")
    lines.append("Columns:")
    lines += [f"  {c.name}  {c.type.value}  {c.help}" for c in module.columns]
    return "\n".join(lines)
