"""Runs a program a second time for the counters of its kernels, as `collect` asks."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli.collected import finish
from tracekit.cli.output import note
from tracekit.errors import CollectError, MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracekit.collect.ncu import Counting
    from tracekit.collect.parts import Part
    from tracekit.collect.request import Collected, Request
    from tracekit.store.run import Run


def check_options(
    profiler: str,
    like: Path | None,
    top: int | None,
    *,
    counters: bool,
    no_convert: bool,
) -> None:
    """Check that the options for counters fit together.

    Raises:
        UsageError: They do not.
    """
    if like is not None and profiler != "ncu":
        raise UsageError(
            "--like chooses kernels for --with ncu",
            hint="--with ncu --like RUN, or --counters without it",
        )
    if top is not None and like is None and not counters:
        raise UsageError(
            "--top chooses kernels by their time in an earlier run",
            hint="--with ncu --like RUN --top N, or --counters --top N",
        )
    if counters and profiler == "ncu":
        raise UsageError(
            "--counters adds counters to a timeline, which ncu does not record",
            hint="--counters --with nsys or cupti; or --with ncu alone",
        )
    if counters and no_convert:
        raise UsageError(
            "--counters measures what the run says to be a step, so a run is needed",
            hint="leave out --no-convert",
        )


def ready(request: "Request") -> "Counting":
    """Check that counters can be read once the timeline is there.

    Raises:
        UsageError: The program, its range or the environment rule them out.
        MissingToolError: There is no ncu that runs, or no permission.
    """
    from tracekit.collect import ncu

    if request.capture_range.range_name:
        raise UsageError(
            "--counters needs to count the same launches in both runs, which a NVTX "
            "range does not allow: it holds those of its own thread alone in ncu",
            hint="use --range cudaProfilerApi or whole",
        )
    own = ncu.own_presets(request.presets)
    return ncu.ready(dataclasses.replace(request, presets=own))


def part_of(path: Path, top: int | None, *, quiet: bool) -> "Part":
    """Return which launches of an earlier run's program to measure.

    Raises:
        UsageError: The run has no kernels.
        UnreadableTraceError: It is no run.
    """
    from tracekit.api.part import part_to_measure
    from tracekit.cli.opening import open_runs

    (run,) = open_runs([path], quiet=quiet)
    part = part_to_measure(run, top)
    note(f"Measuring {part.why}", quiet=quiet)
    return part


def count(
    request: "Request",
    counting: "Counting",
    timeline: "Collected",
    runs: "Sequence[Run]",
    *,
    beside: "Sequence[Path]",
    top: int | None,
    quiet: bool,
) -> None:
    """Run the program again under ncu and add its counters to the run.

    Args:
        request: How the timeline was asked for.
        counting: What `ready` returned.
        timeline: The captures of the timeline.
        runs: Their runs; the first one gets the counters.
        beside: Further captures that belong to the run.
        top: Only so many kernels are measured; None for all.
        quiet: Whether nothing but errors is told.

    Raises:
        CollectError: There are none; the run keeps its timeline.
        MissingToolError: The driver refused them; the run keeps its timeline.
    """
    from tracekit.api.part import part_to_measure
    from tracekit.collect import ncu
    from tracekit.collect.workloads import RECORD_VARIABLE

    run = runs[0]
    if not run.manifest.rows("kernel"):
        raise CollectError(
            f"{run.path} has no kernels that counters could be read of",
            hint="CUDA graphs hide theirs: add --preset graphs",
        )
    part = part_to_measure(run, top)
    note(f"Running the program again; measuring {part.why}", quiet=quiet)
    # What the workload said of its steps is that of the timeline.
    variables = {
        name: value
        for name, value in request.variables.items()
        if name != RECORD_VARIABLE
    }
    again = dataclasses.replace(request, presets=(), part=part, variables=variables)
    try:
        counted = ncu.collect(again, counting)
        note(f"Captured {counted.captures[0]}", quiet=quiet)
        finish(
            dataclasses.replace(timeline, captures=timeline.captures[:1]),
            run.path,
            beside=[*beside, *counted.captures],
            replace=True,
            quiet=quiet,
        )
    except (CollectError, MissingToolError) as error:
        kept = f"{run.path} has the timeline without counters"
        hint = f"{kept}; {error.hint}" if error.hint else kept
        raise type(error)(f"{error}", hint=hint) from error
