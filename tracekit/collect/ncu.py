"""Reads hardware counters of kernels with Nsight Compute."""

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.collect import checks
from tracekit.collect.ncu_metrics import metrics_for
from tracekit.collect.parts import MOST_LAUNCHES, Part
from tracekit.collect.presets import BASE, combined, presets
from tracekit.collect.process import Ended, Launch
from tracekit.collect.ranges import CaptureRange
from tracekit.collect.ranks import task_in
from tracekit.collect.request import Collected, Request, already_there, make_room
from tracekit.errors import CollectError, MissingToolError, UsageError
from tracekit.tools.installed import Installed, child_environment
from tracekit.tools.ncu import VARIABLE, find_ncu
from tracekit.tools.permissions import COUNTERS_ADVICE, counters_are_restricted

REPORT_SUFFIX = ".ncu-rep"
TABLE_SUFFIX = ".ncu.csv"
_LOG_SUFFIX = ".ncu.log"
_IMPORT_S = 1800
_SHOWN_LINES = 12
# What parts ranges, domains and repetitions in ncu's filters.
_SPECIAL = re.compile(r"([\\/@*\[\]+|,])")
_NOT_ALLOWED = "ERR_NVGPUCTRPERM"


@dataclass(frozen=True)
class Counting:
    """An ncu that can measure here.

    Attributes:
        ncu: The program.
        metrics: What it is asked for.
    """

    ncu: Installed
    metrics: list[str]


def own_presets(names: Sequence[str]) -> list[str]:
    """Return those of the presets that are of counters, and of no timeline."""
    return [name for name in names if name != BASE and name in presets("ncu")]


def ready(request: Request) -> Counting:
    """Check that counters can be read, before anything is run.

    Raises:
        UsageError: The command, its rank or the environment rule counters out.
        MissingToolError: There is no GPU, no ncu that runs, no permission, or a
            metric that is needed is not there.
    """
    checks.check_program(request.command)
    checks.check_range(request.capture_range, "ncu")
    recording = combined(request.presets, "ncu")
    if task_in(os.environ) is not None:
        raise UsageError(
            "ncu runs one kernel at a time, so that the collectives of several ranks "
            "would wait for each other",
            hint="read counters of one rank that runs alone",
        )
    checks.check_other_profilers("ncu", os.environ)
    checks.check_gpu()
    if counters_are_restricted():
        raise MissingToolError(
            f"the driver keeps GPU counters for the administrator ({_NOT_ALLOWED})",
            hint=COUNTERS_ADVICE,
        )
    earlier = _earlier(request)
    if earlier and not request.replace:
        raise already_there(earlier[0])
    ncu = _usable_ncu()
    with_tensor = "tensor" in recording.options
    return Counting(ncu, metrics_for(ncu, request.say, with_tensor=with_tensor))


def collect(request: Request, counting: Counting | None = None) -> Collected:
    """Run a program under ncu, and return the table of its counters.

    Args:
        request: What is to be measured; it needs a range or a part.
        counting: What `ready` returned.

    Raises:
        UsageError: As `ready`, and where nothing bounds what is measured.
        MissingToolError: As `ready`; the driver may refuse only now.
        CollectError: ncu measured nothing.
        OutputError: The capture cannot be written where it should be.
    """
    if request.part is None and request.capture_range.is_whole:
        raise UsageError(
            "ncu runs each kernel alone, several times: say which kernels it is for",
            hint="--like RUN for those of an earlier run (with --top N for the N that "
            "took most time), --range cudaProfilerApi or --range nvtx:NAME; or "
            "--counters instead of --with ncu",
        )
    counting = counting or ready(request)
    ncu = counting.ncu
    report, table = request.beside(REPORT_SUFFIX), request.beside(TABLE_SUFFIX)
    log = request.beside(_LOG_SUFFIX)
    make_room(request, _earlier(request), Path.unlink)
    with (
        tempfile.TemporaryDirectory(prefix="tracekit-collect-") as folder,
        Launch(Path(folder)) as launch,
    ):
        command = [
            str(ncu.path),
            *("--target-processes", "all", "--clock-control", "none"),
            # A program that fails has kernels as well.
            *("--check-exit-code", "no"),
            *("--metrics", ",".join(counting.metrics)),
            *_filters(request.capture_range, request.part),
            *("--force-overwrite", "--export", str(report.absolute())),
            *launch.prefix,
            *request.command,
        ]
        request.say(f"Running {shlex.join(command)}")
        ended = launch.run(command, log, request.variables)
    if not report.is_file():
        raise _no_report(ncu, request, ended)
    _export(ncu, report, table)
    status = ended.status
    return Collected(
        [table],
        ended.profiler_status if status is None else status,
        holds=frozenset({"kernel_metric"}),
        what="counters",
        hint=f"what ncu printed is in {log}",
    )


def _earlier(request: Request) -> list[Path]:
    """Return what an earlier run of ncu left under the name."""
    places = (request.beside(TABLE_SUFFIX), request.beside(REPORT_SUFFIX))
    return [path for path in places if path.exists()]


def _usable_ncu() -> Installed:
    found = find_ncu()
    if found is None:
        raise MissingToolError(
            "there is no ncu on the PATH or in the usual folders",
            hint=f"install Nsight Compute, or set {VARIABLE} to the path of ncu",
        )
    if found.failure:
        raise MissingToolError(
            f"{found.path} does not run: {found.failure}",
            hint=f"set {VARIABLE} to the path of another ncu",
        )
    return found


def _filters(wanted: CaptureRange, part: Part | None) -> list[str]:
    """Return the options that bound what is measured."""
    options = []
    if wanted.kind == "cudaProfilerApi":
        options += ["--profile-from-start", "off"]
    if wanted.range_name:
        name, _, domain = wanted.range_name.partition("@")
        pattern = "@".join(_literal(part) for part in (domain, name) if part)
        # A range of push and pop ends in a slash, one of start and end does not.
        options += ["--nvtx", "--nvtx-include", f"{pattern}/"]
        options += ["--nvtx-include", pattern]
    if part is None:
        return [*options, "--launch-count", str(MOST_LAUNCHES)]
    if part.names:
        names = "|".join(re.escape(name) for name in part.names)
        options += ["--kernel-name-base", part.base]
        options += ["--kernel-name", f"regex:^({names})$"]
    if part.skip:
        options += ["--launch-skip", str(part.skip)]
    return [*options, "--launch-count", str(min(part.count, MOST_LAUNCHES))]


def _literal(name: str) -> str:
    return _SPECIAL.sub(r"\\\1", name)


def _export(ncu: Installed, report: Path, table: Path) -> None:
    """Write the report as a table, with linker symbols for names."""
    command = [
        *(str(ncu.path), "--import", str(report), "--csv", "--page", "raw"),
        *("--print-kernel-base", "mangled", "--print-units", "base"),
    ]
    try:
        with table.open("wb") as file:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
                timeout=_IMPORT_S,
                check=False,
                env=child_environment(),
            )
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        failure = f"{(said or ['no message'])[-1]}" if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    if failure:
        table.unlink(missing_ok=True)
        raise CollectError(
            f"{ncu} does not print its report {report}: {failure}",
            hint=f"the report is kept; by hand: {shlex.join(command)} > {table}",
        )


def _no_report(
    ncu: Installed, request: Request, ended: Ended
) -> CollectError | MissingToolError:
    if _NOT_ALLOWED in ended.printed:
        return MissingToolError(
            f"{ncu} may not read GPU counters: the driver keeps them for the "
            f"administrator ({_NOT_ALLOWED})",
            hint=COUNTERS_ADVICE,
        )
    lines = [line for line in ended.printed.splitlines() if line.strip()]
    printed = "".join(f"\n  | {line}" for line in lines[-_SHOWN_LINES:])
    if "No kernels were profiled" in ended.printed:
        part = request.part.why if request.part else f"`{request.capture_range}`"
        return CollectError(
            f"{ncu} measured no kernel of {part or 'the part asked for'}{printed}",
            hint="look whether the program launches as many kernels as before, or "
            "enters the range",
        )
    return CollectError(
        f"{ncu} ended with status {ended.profiler_status} and made no report{printed}",
        hint=f"what it printed is in {request.beside(_LOG_SUFFIX)}",
    )
