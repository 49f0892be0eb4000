"""`tracekit collect`: run a program under a profiler, end with a run."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli.options import Format, Quiet, Verbose
from tracekit.cli.output import note, write_result

# What follows the program's name belongs to the program.
CONTEXT = {"allow_interspersed_args": False}


class Profiler(StrEnum):
    """The values of `--with`."""

    NSYS = "nsys"
    CUPTI = "cupti"
    NCU = "ncu"


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
            help="What to record beside kernels, calls and ranges; repeat it.",
        ),
    ] = None,
    range_: Annotated[
        str,
        typer.Option(
            "--range",
            metavar="whole|cudaProfilerApi|nvtx:NAME",
            help="The part of the run to record.",
        ),
    ] = "whole",
    counters: Annotated[
        bool,
        typer.Option(
            "--counters",
            help="Run the program again under ncu, for FP32 utilization.",
        ),
    ] = False,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like",
            readable=False,
            metavar="RUN",
            help="With --with ncu: measure a step of this earlier run.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            min=1,
            metavar="N",
            help="With --counters or --like: only the N kernels with most time.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", readable=False, metavar="RUN", help="The run to make."
        ),
    ] = None,
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

    if profiler is None:
        profiler = Profiler.NSYS if list_presets or find_nsys() else Profiler.CUPTI
    if list_presets:
        _list_presets(profiler)
        return
    from tracekit.cli import counting
    from tracekit.cli.collected import finish
    from tracekit.collect.collectors import collector
    from tracekit.collect.ranges import CaptureRange
    from tracekit.collect.request import Request
    from tracekit.store.unfinished import already_there

    counting.check_options(
        profiler, like, top, counters=counters, no_convert=no_convert
    )
    words = command or []
    stem, run_path = _places(output, words)
    if not no_convert and run_path.exists() and not force:
        raise already_there(run_path)
    request = Request(
        command=words,
        stem=stem,
        presets=preset or [],
        capture_range=CaptureRange.parse(range_),
        part=None if like is None else counting.part_of(like, top, quiet=quiet),
        replace=force,
        say=lambda text: note(text, quiet=quiet),
    )
    ready = counting.ready(request) if counters else None
    collected = collector(profiler)(request)
    for capture in collected.captures:
        note(f"Captured {capture}", quiet=quiet)
    destination = None if no_convert else run_path
    runs = finish(collected, destination, replace=force, quiet=quiet)
    if ready is not None:
        counting.count(request, ready, collected, runs, top, quiet=quiet)
    if collected.status:
        note(f"The program ended with status {collected.status}", quiet=quiet)
    raise typer.Exit(collected.status)


def _list_presets(profiler: Profiler) -> None:
    import pyarrow as pa

    from tracekit.collect.presets import presets
    from tracekit.errors import UsageError

    if profiler is Profiler.NCU:
        raise UsageError(
            "the collector ncu has no presets",
            hint="its metrics are chosen by the GPU: collectors/ncu",
        )
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


def _places(output: Path | None, command: list[str]) -> tuple[Path, Path]:
    """Return where the capture goes, without its suffix, and the run."""
    from tracekit.collect.request import capture_stem

    if output is None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        output = Path(f"{_name(command)}-{stamp}.run")
    suffix = output.suffix if output.suffix == ".run" else ""
    stem = capture_stem(output.with_name(output.name.removesuffix(suffix)))
    run = stem.with_name(stem.name + suffix)
    return stem, run


def _name(command: list[str]) -> str:
    """Return the name of the script, or of the program that has none."""
    scripts = [word for word in command[1:] if word.endswith((".py", ".sh"))]
    return Path((scripts or command or ["program"])[0]).stem
