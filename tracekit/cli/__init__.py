"""The command line: one file per command, which calls one function and prints."""

import importlib
import os
import signal
import sys
from contextlib import suppress
from typing import Annotated, NoReturn, TextIO

import typer

from tracekit._version import __version__
from tracekit.cli.verbosity import is_verbose, origin_of, set_verbose
from tracekit.errors import TracekitError
from tracekit.report.cells import visible

# In the order of the help; each is `tracekit.cli.<name>` with a function `<name>`.
COMMANDS = (
    "demo",
    "collect",
    "convert",
    "info",
    "query",
    "sql",
    "report",
    "diff",
    "export",
    "scrub",
    "doctor",
    "clean",
)
# Each is `tracekit.cli.<name>` with an `app` of commands of its own.
GROUPS = ("workload",)

app = typer.Typer(
    name="tracekit",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:  # noqa: FBT001 - the form of a typer callback
    if value:
        typer.echo(f"tracekit {__version__}")
        raise typer.Exit


@app.callback()
def _tracekit(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Version."),
    ] = False,
) -> None:
    """Where time, FLOPs and memory went on a GPU."""


for _name in COMMANDS:
    _module = importlib.import_module(f"tracekit.cli.{_name}")
    app.command(_name, context_settings=getattr(_module, "CONTEXT", None))(
        getattr(_module, _name)
    )
for _name in GROUPS:
    app.add_typer(importlib.import_module(f"tracekit.cli.{_name}").app, name=_name)


def _terminated(number: int, frame: object) -> None:  # noqa: ARG001 - a handler
    sys.exit(128 + number)


def _end_without_reader(stdout: TextIO) -> NoReturn:
    """End where the reader of a pipe is gone, as `| head` is: no fault of ours."""
    # Python flushes once more at exit, into nothing.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    sys.exit(0)


def main(argv: list[str] | None = None) -> None:
    """Run the CLI; the only place that turns an error into text and a status."""
    # As with Ctrl-C, what was begun is removed before the process ends.
    with suppress(ValueError):  # only the main thread takes signals
        signal.signal(signal.SIGTERM, _terminated)
    set_verbose(False)
    stdout = sys.stdout
    try:
        app(args=argv, prog_name="tracekit")
    except TracekitError as error:
        # Names in it come from the capture, and may hold escapes of the terminal.
        for line in f"Error: {error}".split("\n"):
            typer.echo(visible(line), err=True)
        if error.hint:
            typer.echo(f"\nHint: {visible(error.hint)}", err=True)
        if is_verbose():
            typer.echo("\n" + "\n".join(origin_of(error)), err=True)
        sys.exit(error.exit_code)
    except SystemExit:
        # Click notices a closed pipe by itself, as under --help, and puts another
        # stream in the place of this one.
        if sys.stdout is not stdout:
            _end_without_reader(stdout)
        raise
    except BrokenPipeError:
        _end_without_reader(stdout)
    except KeyboardInterrupt:
        sys.exit(130)
