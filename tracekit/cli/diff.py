"""`tracekit diff`: what changed from one run to another."""

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli.opening import open_runs
from tracekit.cli.options import MemoryLimit, Quiet, Verbose
from tracekit.cli.output import note, standard_output, write_result
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.report.difference import Difference

_PERCENT = re.compile(r"(?P<number>\d+(\.\d+)?)\s*%")
_OVER = 1


class DiffFormat(StrEnum):
    """How a difference is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


def diff(
    base: Annotated[
        Path,
        typer.Argument(readable=False, metavar="BASE", help="Run to compare with."),
    ],
    other: Annotated[
        Path,
        typer.Argument(readable=False, metavar="OTHER", help="Run that may differ."),
    ],
    fail_above: Annotated[
        str | None,
        typer.Option(
            "--fail-above",
            metavar="PERCENT",
            help="End with 1 where the metric got worse by more, such as 5%.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            help="Metric of --fail-above; step_ns, or without steps kernel_busy_ns.",
        ),
    ] = None,
    format_: Annotated[
        DiffFormat, typer.Option("--format", "-f", help="How it is written.")
    ] = DiffFormat.TABLE,
    memory_limit: MemoryLimit = "1GB",
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Say what changed from one run to another by more than noise.

    Kernels, copies, operators, ranges, steps and metrics: added, removed, slower,
    faster, with the number of launches and the time of each apart.
    """
    from tracekit.api.differences import compare
    from tracekit.query import Limits

    allowed = None if fail_above is None else _part(fail_above)
    if metric is not None and allowed is None:
        raise UsageError(
            "--metric says nothing without --fail-above", hint="such as 5%"
        )
    first, second = open_runs([base, other], quiet=quiet)
    found = compare(
        first,
        second,
        fail_above=allowed,
        metric=metric,
        limits=Limits(memory=memory_limit),
    )
    _write(found, format_, quiet=quiet)
    if found.limit is not None:
        if found.limit.is_over:
            typer.echo(f"Over the limit: {found.limit}", err=True)
            sys.exit(_OVER)
        note(f"Within the limit: {found.limit}", quiet=quiet)


def _part(text: str) -> float:
    match = _PERCENT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"`{text}` is no percentage", hint="--fail-above 5%")
    return float(match["number"]) / 100


def _write(found: "Difference", format_: DiffFormat, *, quiet: bool) -> None:
    from tracekit.cli.options import Format
    from tracekit.report import difference

    if format_ in (DiffFormat.TABLE, DiffFormat.CSV):
        if found.changes.num_rows or format_ is DiffFormat.CSV:
            write_result(found.changes, Format(format_.value))
        note(difference.summary(found), quiet=quiet)
        return
    write = (
        difference.write_json if format_ is DiffFormat.JSON else difference.write_text
    )
    with standard_output():
        write(found, sys.stdout.buffer)
        sys.stdout.buffer.flush()
