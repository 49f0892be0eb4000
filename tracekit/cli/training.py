"""The options that say what a workload trains, shared by the commands that run one."""

from typing import Annotated

import typer

Framework = Annotated[
    str | None,
    typer.Option(
        "--framework", metavar="NAME", help="torch, tensorflow, mxnet or cntk."
    ),
]
Python = Annotated[
    str | None,
    typer.Option("--python", metavar="EXE", help="The Python that has the framework."),
]
BatchSize = Annotated[
    int | None,
    typer.Option("--batch-size", min=1, metavar="N", help="Samples an iteration."),
]
Steps = Annotated[
    int | None, typer.Option("--steps", min=1, metavar="N", help="Iterations.")
]
Precision = Annotated[
    str | None, typer.Option("--precision", metavar="fp32|tf32|fp16|bf16")
]
Device = Annotated[str | None, typer.Option("--device", metavar="auto|cuda|cpu")]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Seed of weights and data.")
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Another setting of the model; repeat it."
    ),
]
