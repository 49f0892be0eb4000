"""Options and arguments that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli.verbosity import set_verbose


class Format(StrEnum):
    """How a result is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    MARKDOWN = "markdown"


Runs = Annotated[
    list[Path],
    typer.Argument(
        readable=False,
        metavar="RUN...",
        help="Runs or raw captures.",
        show_default=False,
    ),
]
OutputFormat = Annotated[
    Format, typer.Option("--format", "-f", help="How the result is written.")
]
CsvSafe = Annotated[
    bool,
    typer.Option(
        "--csv-safe",
        help="Make text plain that a spreadsheet would take for a formula.",
    ),
]
MemoryLimit = Annotated[
    str,
    typer.Option(
        "--memory-limit", help="Memory before it spills to disk.", metavar="SIZE"
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Only results and errors, no notes.")
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        callback=set_verbose,
        help="Say more: what a conversion did, where an error arose.",
    ),
]
