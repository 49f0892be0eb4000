"""`tracekit report`: everything worth seeing of runs, in one file."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from tracekit.cli.opening import open_runs
from tracekit.cli.options import MemoryLimit, Quiet, Runs, Verbose
from tracekit.cli.output import note, standard_output
from tracekit.errors import OutputError, UsageError

if TYPE_CHECKING:
    from tracekit.report.model import Report

_PAGE = "report.html"


class ReportFormat(StrEnum):
    """How a report is written."""

    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


def report(
    runs: Runs,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            readable=False,
            metavar="FILE",
            help="Where to write it; - is standard output. By default report.html, "
            "and standard output for the other formats.",
        ),
    ] = None,
    format_: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="How it is written.")
    ] = ReportFormat.HTML,
    memory_limit: MemoryLimit = "1GB",
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Write one file that says what bounds runs, and shows where their time went."""
    from tracekit.api.reporting import make_report
    from tracekit.query import Limits

    opened = open_runs(runs, quiet=quiet)
    made = make_report(opened, limits=Limits(memory=memory_limit))
    if output is None and format_ is ReportFormat.HTML:
        output = Path(_PAGE)
    write_report(made, output, format_, quiet=quiet)


def write_report(
    made: "Report", output: Path | None, format_: ReportFormat, *, quiet: bool
) -> None:
    """Write a report to a file, or to standard output where `output` is None or -.

    Raises:
        OutputError: It cannot be written there.
        UsageError: The file is a folder.
    """
    if output is None or str(output) == "-":
        with standard_output():
            _write(made, sys.stdout.buffer, format_)
            sys.stdout.buffer.flush()
        return
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint=f"-o {output / _PAGE}")
    try:
        with output.open("wb") as file:
            _write(made, file, format_)
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror}") from error
    note(f"Wrote {output}", quiet=quiet)


def _write(made: "Report", target: IO[bytes], format_: ReportFormat) -> None:
    if format_ is ReportFormat.HTML:
        from tracekit.report.page import write_html

        write_html(made, target)
    elif format_ is ReportFormat.JSON:
        from tracekit.report.plain import write_json

        write_json(made, target)
    else:
        from tracekit.report.plain import write_text

        write_text(made, target)
