"""`tracekit convert`: captures become a run."""

import time as time_
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli.options import Quiet, Verbose
from tracekit.cli.output import note
from tracekit.cli.progress import rows_read
from tracekit.cli.verbosity import is_verbose
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.store.manifest import Manifest


class AlignBy(StrEnum):
    """The values of `--align`; the converter is imported only when it runs."""

    UTC = "utc"
    COLLECTIVES = "collectives"
    NONE = "none"


def convert(
    captures: Annotated[
        list[Path],
        typer.Argument(
            readable=False,
            metavar="CAPTURE...",
            help="Captures; several are the ranks of one job.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", readable=False, metavar="RUN", help="The run to make."
        ),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(
            "--tables", metavar="NAME,...", help="Tables to make; all if left out."
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="FROM:TO",
            help="Keep rows that start in this time of the recorded clock.",
        ),
    ] = None,
    redact_host: Annotated[
        bool, typer.Option("--redact-host", help="Replace names of machines.")
    ] = False,
    redact_paths: Annotated[
        bool, typer.Option("--redact-paths", help="Shorten paths below home folders.")
    ] = False,
    align: Annotated[
        AlignBy,
        typer.Option("--align", help="What puts the clocks of several ranks onto one."),
    ] = AlignBy.UTC,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run if it exists.")
    ] = False,
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Convert captures into a run: any format, found from the content.

    Environment variables, output text, whole files and user names stay behind.
    """
    from tracekit.cli.opening import warn
    from tracekit.convert import Align, Redact, Request
    from tracekit.convert import convert as convert_captures
    from tracekit.convert.capture import stem
    from tracekit.schema import TABLES

    destination = output or Path(f"{stem(captures[0])}.run")
    redact = Redact.NOTHING
    if redact_host:
        redact |= Redact.HOST
    if redact_paths:
        redact |= Redact.PATHS
    start_ns, end_ns = _span(time)
    began = time_.monotonic()
    with rows_read("converting", quiet=quiet) as on_rows:
        request = Request(
            tables=frozenset(tables.split(",")) if tables else frozenset(TABLES),
            start_ns=start_ns,
            end_ns=end_ns,
            redact=redact,
            align=Align(align.value),
            replace=force,
            on_rows=on_rows,
        )
        run = convert_captures(captures, destination, request)
    warn(run, quiet=quiet)
    if is_verbose():
        for line in _detail(run.manifest, time_.monotonic() - began):
            note(line, quiet=quiet)
    for line in _summary(run.manifest):
        note(line, quiet=quiet)
    note(f"Wrote {destination}", quiet=quiet)


def _span(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    from tracekit.query.scope import WindowKind, parse_window

    window = parse_window(text)
    points = (window.start, window.end)
    if window.kind is not WindowKind.SPAN or any(p and p.relative for p in points):
        raise UsageError(
            f"--time is `{text}`", hint="FROM:TO on the recorded clock, as 1.5s:2s"
        )
    start, end = (None if point is None else point.ns for point in points)
    return start, end


def _detail(manifest: "Manifest", seconds: float) -> list[str]:
    """Say what was read in how long, what came of it, and why the rest is empty."""
    files = [f"Read {f.name}: {f.bytes:,} bytes" for f in manifest.source.files]
    tables = [f"Table {name}: {manifest.rows(name):,} rows" for name in manifest.tables]
    absent = [f"No {name}: {why}" for name, why in manifest.absent.items()]
    return [*files, *tables, *absent, f"Took {seconds:.1f} s"]


def _summary(manifest: "Manifest") -> list[str]:
    """Say what was read, and what was not."""
    from tracekit.api.facts import joined_line
    from tracekit.report.cells import counted

    rows = {name: manifest.rows(name) for name in manifest.tables}
    read = ", ".join(
        f"{rows[name]:,} {name}"
        for name in ("kernel", "memcpy", "memset", "graph_launch", "api_call")
        if name in rows
    )
    total = sum(rows.values())
    lines = [f"{manifest.source.format}: {total:,} rows ({read or 'no GPU work'})"]
    lines += [f"Counters ({n.tool}): {joined_line(n)}" for n in manifest.joined]
    for title, notes in (
        ("Rejected", manifest.rejected),
        ("Skipped", manifest.skipped),
        ("Repaired", manifest.repaired),
        ("Left behind", manifest.left_behind),
    ):
        lines += [f"{title}: {counted(n.count, n.what)} ({n.reason})" for n in notes]
    return lines
