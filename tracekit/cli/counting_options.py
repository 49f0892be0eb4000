"""The options of `collect` for counters."""

from pathlib import Path
from typing import Annotated

import typer

Counters = Annotated[
    bool,
    typer.Option(
        "--counters", help="Run the program again under ncu, for FP32 utilization."
    ),
]

Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        readable=False,
        metavar="RUN",
        help="With --with ncu: measure a step of this earlier run.",
    ),
]

Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        min=1,
        metavar="N",
        help="With --counters or --like: only the N kernels with most time.",
    ),
]
