"""Writes results to standard output, and notes to standard error."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tracekit.cli.options import Format
from tracekit.errors import OutputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa


def note(text: str, *, quiet: bool) -> None:
    """Tell the user something that is no result."""
    if not quiet:
        typer.echo(text, err=True)


def write_result(table: "pa.Table", how: Format, *, csv_safe: bool = False) -> None:
    """Write a table to standard output.

    Raises:
        UsageError: It is binary, and standard output is a terminal.
        OutputError: There is no room for it.
    """
    with standard_output():
        _write(table, how, csv_safe=csv_safe)


def write_text(text: str) -> None:
    """Write lines of text to standard output.

    Raises:
        OutputError: There is no room for it.
    """
    with standard_output():
        typer.echo(text)
        sys.stdout.flush()


@contextmanager
def standard_output() -> Iterator[None]:
    """Turn what may go wrong with standard output into an error, or an end."""
    try:
        yield
    except OSError as error:
        # Python flushes once more at exit: into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            # The reader of a pipe is gone, as `| head` is: no fault of ours.
            sys.exit(0)
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OutputError(f"the result cannot be written: {reason}") from error


def _write(table: "pa.Table", how: Format, *, csv_safe: bool) -> None:
    target = sys.stdout.buffer
    if how is Format.TABLE:
        from tracekit.report.terminal import render, terminal_width, wants_color

        text = render(table, width=terminal_width(), color=wants_color())
        target.write(text.encode("utf-8", "replace"))
        target.flush()
        return
    from tracekit.report import formats

    if csv_safe:
        table = formats.for_spreadsheet(table)
    if how is Format.CSV:
        formats.write_csv(table, target)
    elif how is Format.JSON:
        formats.write_json(table, target)
    elif how is Format.MARKDOWN:
        formats.write_markdown(table, target)
    else:
        if sys.stdout.isatty():
            raise UsageError(
                "Parquet is no text for a terminal",
                hint="redirect it: > result.parquet",
            )
        formats.write_parquet(table, target)
    target.flush()
