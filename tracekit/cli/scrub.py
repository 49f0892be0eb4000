"""`tracekit scrub`: the same capture, fit to share."""

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli.options import Quiet
from tracekit.cli.output import note


def scrub(
    capture: Annotated[Path, typer.Argument(help="The capture.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The file to make.")
    ],
    quiet: Quiet = False,
) -> None:
    """Write the same capture without environment, paths and names of people."""
    from tracekit.convert.scrub import scrub as scrub_capture

    for line in scrub_capture(capture, output):
        note(line, quiet=quiet)
    note(f"Wrote {output}", quiet=quiet)
