"""`tracekit collect`: run a program under a profiler, end with a run."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli.options import Format, Quiet, Verbose
from tracekit.cli.output import note, write_result
from tracekit.cli.progress import rows_read
from tracekit.errors import CollectError, TracekitError

if TYPE_CHECKING:
    from tracekit.collect.request import Collected
    from tracekit.store.run import Run

# What follows the program's name belongs to the program.
CONTEXT = {"allow_interspersed_args": False}

_GPU_WORK = frozenset({"kernel", "memcpy", "memset", "graph_launch"})
_SHOWN_MESSAGES = 5


class Profiler(StrEnum):
    """The values of `--with`."""

    NSYS = "nsys"
    CUPTI = "cupti"


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
    from tracekit.collect import cupti, nsys
    from tracekit.tools.nsys import find_nsys

    if profiler is None:
        profiler = Profiler.NSYS if list_presets or find_nsys() else Profiler.CUPTI
    if list_presets:
        _list_presets(profiler)
        return
    from tracekit.collect.ranges import CaptureRange
    from tracekit.collect.request import Request
    from tracekit.store.unfinished import already_there

    words = command or []
    stem, run_path = _places(output, words)
    if not no_convert and run_path.exists() and not force:
        raise already_there(run_path)
    run_traced = nsys.collect if profiler is Profiler.NSYS else cupti.collect
    collected = run_traced(
        Request(
            command=words,
            stem=stem,
            presets=preset or [],
            capture_range=CaptureRange.parse(range_),
            replace=force,
            say=lambda text: note(text, quiet=quiet),
        )
    )
    for capture in collected.captures:
        note(f"Captured {capture}", quiet=quiet)
    try:
        _convert(collected, None if no_convert else run_path, force=force, quiet=quiet)
    except CollectError:
        raise
    except TracekitError as error:
        raise CollectError(f"{error}", hint=error.hint) from error
    if collected.status:
        note(f"The program ended with status {collected.status}", quiet=quiet)
    raise typer.Exit(collected.status)


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


def _convert(
    collected: "Collected", destination: Path | None, *, force: bool, quiet: bool
) -> None:
    """Make the run; without a destination only look for GPU work."""
    import tempfile

    from tracekit.cli.opening import warn
    from tracekit.convert import Request
    from tracekit.convert import convert as convert_captures
    from tracekit.schema import TABLES

    with (
        tempfile.TemporaryDirectory(prefix="tracekit-collect-") as scratch,
        rows_read("converting", quiet=quiet) as on_rows,
    ):
        # Numbered captures are stretches of one run, and each makes one of its own.
        for number, capture in enumerate(collected.captures):
            place = destination or Path(scratch) / f"{number}.run"
            if destination is not None and number:
                place = destination.with_name(f"{destination.stem}.{number + 1}.run")
            run = convert_captures(
                [capture],
                place,
                Request(
                    tables=frozenset(TABLES if destination else _GPU_WORK),
                    replace=force,
                    on_rows=on_rows,
                ),
            )
            if destination is not None:
                warn(run, quiet=quiet)
                note(f"Wrote {place}", quiet=quiet)
            _check_gpu_work(run, collected, capture, quiet=quiet)


def _check_gpu_work(
    run: "Run", collected: "Collected", capture: Path, *, quiet: bool
) -> None:
    if run.manifest.window is not None:
        return
    said = "".join(f"\n  | {text}" for text in _messages(run))
    text = f"{capture} holds no GPU work{said}"
    if collected.status:
        note(f"Warning: {text}", quiet=quiet)
        return
    raise CollectError(
        text,
        hint="look whether the program used the GPU while it was recorded, and whether "
        "another profiler (torch.profiler, ncu) ran in it",
    )


def _messages(run: "Run") -> list[str]:
    """Return what the profiler said was wrong."""
    import pyarrow.parquet as pq

    rows = [
        row
        for file in run.files("diagnostic")
        for row in pq.read_table(file).to_pylist()
    ]
    texts = [row["text"] for row in rows if row["severity"] in ("error", "warning")]
    return list(dict.fromkeys(texts))[:_SHOWN_MESSAGES]
