"""`tracekit scrub`: the same capture, fit to share."""

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli.options import Quiet
from tracekit.cli.output import note


def scrub(
    capture: Annotated[Path, typer.Argument(readable=False, help="The capture.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", readable=False, metavar="OUT", help="The file to make."
        ),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Replace OUT if it exists.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write the same capture without environment, paths and names of people.

    The copy is compressed if OUT ends in .gz or .zst.
    """
    from tracekit.convert.scrub import scrub as scrub_capture

    for line in scrub_capture(capture, output, replace=force):
        note(line, quiet=quiet)
    note(f"Wrote {output}", quiet=quiet)
