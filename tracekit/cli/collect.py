"""`tracekit collect`: run a program under a profiler, end with a run."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli.counting_options import Counters, Like, Top
from tracekit.cli.options import Format, Quiet, Verbose
from tracekit.cli.output import note, write_result
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
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.cli.tracing import Tracing
    from tracekit.collect.workloads import Training

# What follows the program's name belongs to the program.
CONTEXT = {"allow_interspersed_args": False}


class Profiler(StrEnum):
    """The values of `--with`."""

    NSYS = "nsys"
    CUPTI = "cupti"
    CUPTI_PYTHON = "cupti-python"
    NCU = "ncu"
    TORCH = "torch"
    TENSORFLOW = "tensorflow"
    MXNET = "mxnet"
    CNTK = "cntk"


def collect(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- CMD...",
            help="The program and its arguments.",
            show_default=False,
        ),
    ] = None,
    profiler: Annotated[
        Profiler | None,
        typer.Option("--with", help="What records; nsys if there is one, else cupti."),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            "--preset",
            "-p",
            metavar="NAME",
            help="What to record beside kernels, calls and ranges, or a preset of "
            "the workload (tiny); repeat it.",
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload", metavar="NAME", help="A model of tracekit's own to train."
        ),
    ] = None,
    framework: Framework = None,
    python: Python = None,
    batch_size: BatchSize = None,
    steps: Steps = None,
    precision: Precision = None,
    device: Device = None,
    seed: Seed = None,
    setting: Setting = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            "--sweep",
            metavar="batch-size=8,16,...",
            help="A run for each, up to the memory's limit.",
        ),
    ] = None,
    range_: Annotated[
        str,
        typer.Option(
            "--range",
            metavar="whole|cudaProfilerApi|nvtx:NAME|steps:FROM:TO",
            help="The part of the run to record.",
        ),
    ] = "whole",
    counters: Counters = False,
    like: Like = None,
    top: Top = None,
    memory: Annotated[
        bool,
        typer.Option(
            "--memory", help="What PyTorch's memory holds, instead of a timeline."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", readable=False, metavar="RUN", help="The run to make."
        ),
    ] = None,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline", help="Run it once more without a profiler: what tracing cost."
        ),
    ] = False,
    no_convert: Annotated[
        bool, typer.Option("--no-convert", help="Keep the capture, make no run.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run and its capture.")
    ] = False,
    list_presets: Annotated[
        bool, typer.Option("--list-presets", help="The presets and what they cost.")
    ] = False,
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Run a program under a profiler and convert what it recorded.

    Ends with the program's status; 125 if no capture of GPU work came of it.
    """
    from tracekit.tools.nsys import find_nsys

    if memory and (profiler is not None or counters):
        raise UsageError(
            "--memory records by itself, without a profiler beside it",
            hint="leave --with and --counters out, and collect a timeline by itself",
        )
    if profiler is None:
        profiler = Profiler.NSYS if find_nsys() else Profiler.CUPTI
    if list_presets:
        _list_presets(profiler)
        return
    from tracekit.cli import counting
    from tracekit.cli.tracing import Tracing
    from tracekit.collect.collectors import collector
    from tracekit.collect.ranges import CaptureRange

    counting.check_options(
        profiler, like, top, counters=counters, no_convert=no_convert
    )
    one = Tracing(
        collector("memory" if memory else profiler),
        range_=CaptureRange.parse(range_),
        converts=not no_convert,
        counters=counters,
        baseline=baseline,
        part=None if like is None else counting.part_of(like, top, quiet=quiet),
        top=top,
        force=force,
        quiet=quiet,
    )
    given = (framework, python, batch_size, steps, precision, device, seed, setting)
    if workload is None:
        if sweep is not None or any(value is not None for value in given):
            raise UsageError(
                "there is no workload that the options of a training are for",
                hint="--workload NAME; tracekit workload list has them",
            )
        words = command or []
        raise typer.Exit(one.run(words, _places(output, _name(words)), preset or []))
    if command:
        raise UsageError(
            "both a program and --workload are given", hint="leave one of them out"
        )
    from tracekit.collect import workloads

    names, own = workloads.split_presets(workload, preset or [])
    training = workloads.Training(
        name=workload,
        framework=framework,
        python=python,
        preset=own,
        batch_size=batch_size,
        steps=steps,
        precision=precision,
        device=device,
        seed=seed,
        settings=setting or (),
        profile=workloads.profiled_steps(range_, steps),
    )
    raise typer.Exit(_train(one, training, sweep, output, names))


def _train(
    one: "Tracing",
    training: "Training",
    sweep: str | None,
    output: Path | None,
    presets: list[str],
) -> int:
    """Trace a training, or those of a sweep until the memory does not suffice."""
    from tracekit.collect import workloads
    from tracekit.tools.interpreters import interpreter_for

    workloads.check(training)
    framework = workloads.framework_of(training)
    trainings = workloads.swept(training, sweep) if sweep else {"": training}
    interpreter = interpreter_for(framework, training.python)
    status = 0
    with workloads.scripts() as folder:
        for label, each in trainings.items():
            status = one.run(
                workloads.command(each, interpreter, folder),
                _places(output, f"{each.name}-{framework}", label),
                presets,
                interpreter.variables,
                is_workload=True,
            )
            if sweep and status == workloads.OUT_OF_MEMORY:
                note(f"{label} is beyond the memory", quiet=one.quiet)
                return 0
            if status:
                return status
    return status


def _list_presets(profiler: Profiler) -> None:
    import pyarrow as pa

    from tracekit.collect.presets import presets

    rows = [
        {
            "preset": name,
            "records": preset.summary,
            "cost": preset.cost,
            "tables": ", ".join(preset.yields),
        }
        for name, preset in presets(profiler).items()
    ]
    write_result(pa.Table.from_pylist(rows), Format.TABLE)
    others = ", ".join(f"--with {other}" for other in Profiler if other != profiler)
    typer.echo(f"These are the presets of {profiler}; others: {others}", err=True)


def _places(output: Path | None, name: str, label: str = "") -> tuple[Path, Path]:
    """Return where the capture goes, without its suffix, and the run.

    Args:
        output: What the user named.
        name: What it is called where they did not.
        label: Tells the runs of a sweep apart.
    """
    from tracekit.collect.request import capture_stem

    if output is None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        output = Path(f"{name}-{stamp}.run")
    suffix = output.suffix if output.suffix == ".run" else ""
    plain = output.name.removesuffix(suffix)
    stem = capture_stem(output.with_name(f"{plain}-{label}" if label else plain))
    run = stem.with_name(stem.name + suffix)
    return stem, run


def _name(command: list[str]) -> str:
    """Return the name of the script, or of the program that has none."""
    scripts = [word for word in command[1:] if word.endswith((".py", ".sh"))]
    return Path((scripts or command or ["program"])[0]).stem
