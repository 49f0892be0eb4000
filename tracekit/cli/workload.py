"""`tracekit workload`: the training workloads, listed or run without a profiler."""

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli.options import Format, OutputFormat
from tracekit.cli.output import write_result
from tracekit.cli.training import (
    BatchSize,
    Device,
    Framework,
    Precision,
    Python,
    Seed,
    Setting,
    Steps,
)
from tracekit.errors import CollectError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _workload() -> None:
    """The models of the TBD benchmark, on synthetic data."""


@app.command("list")
def list_(format_: OutputFormat = Format.TABLE) -> None:
    """Print the workloads as the paper's table has them."""
    import pyarrow as pa

    from tracekit.collect.workloads import workloads

    rows = [
        {
            "workload": name,
            "application": known.application,
            "model": known.model,
            "layers": known.layers,
            "dominant layer": known.dominant_layer,
            "frameworks": ", ".join(known.frameworks),
            "dataset imitated": known.dataset,
            "unit": known.unit,
        }
        for name, known in workloads().items()
    ]
    write_result(pa.Table.from_pylist(rows), format_)


@app.command()
def run(
    name: Annotated[str, typer.Argument(metavar="WORKLOAD", show_default=False)],
    framework: Framework = None,
    python: Python = None,
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", metavar="paper|tiny")
    ] = None,
    batch_size: BatchSize = None,
    steps: Steps = None,
    precision: Precision = None,
    device: Device = None,
    seed: Seed = None,
    setting: Setting = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Take a line for each iteration, as JSON.",
        ),
    ] = None,
) -> None:
    """Train a workload without a profiler; ends with its status."""
    from tracekit.collect.workloads import (
        RECORD_VARIABLE,
        Training,
        check,
        command,
        framework_of,
        scripts,
    )
    from tracekit.tools.interpreters import child_environment, interpreter_for

    training = Training(
        name=name,
        framework=framework,
        python=python,
        preset=preset,
        batch_size=batch_size,
        steps=steps,
        precision=precision,
        device=device,
        seed=seed,
        settings=setting or (),
    )
    check(training)
    interpreter = interpreter_for(framework_of(training), python)
    variables = {
        **interpreter.variables,
        **({RECORD_VARIABLE: str(record.absolute())} if record else {}),
    }
    with scripts() as folder:
        words = command(training, interpreter, folder)
        try:
            done = subprocess.run(words, env=child_environment(variables), check=False)
        except OSError as error:
            raise CollectError(f"{words[0]} does not start: {error}") from error
    # A signal ends a shell's command with 128 more.
    raise typer.Exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)
