"""Traces a program with Nsight Systems."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from tracekit.collect import checks
from tracekit.collect.presets import Recording, combined
from tracekit.collect.process import Ended, Launch
from tracekit.collect.ranges import CaptureRange
from tracekit.collect.ranks import task_in
from tracekit.collect.request import Collected, Request, kept_samples, make_room
from tracekit.collect.sampling import SUFFIX as SAMPLES_SUFFIX
from tracekit.errors import CollectError, MissingToolError
from tracekit.tools.libraries import install_advice, library_named_in
from tracekit.tools.nsys import (
    VARIABLE,
    Nsys,
    child_environment,
    find_nsys,
)

REPORT_SUFFIXES = (".nsys-rep", ".qdrep")
STREAM_SUFFIX = ".qdstrm"
_LOG_SUFFIX = ".log"
_SHOWN_LINES = 12
_START_S = 30
_STREAM_NAMED = re.compile(r"^\s*(/\S.*?\.qdstrm)\s*$", re.M)
_BAR = re.compile(r"\[[=# >-]*\s*\d+\s*%[^\]]*\]")


def collect(request: Request) -> Collected:
    """Run a program under nsys and return the reports.

    Raises:
        UsageError: The command, a preset or the environment rule a capture out.
        MissingToolError: There is no GPU, no nsys that runs, or no permission.
        CollectError: nsys made no report.
        OutputError: The capture cannot be written where it should be.
    """
    checks.check_program(request.command)
    checks.check_range(request.capture_range, "nsys")
    recording = combined(request.presets)
    checks.check_other_profilers("nsys", os.environ)
    checks.check_gpu()
    checks.check_permissions(recording)
    nsys = _usable_nsys()
    options = _options(nsys, recording, request.capture_range)
    make_room(request, reports_of(request.stem), Path.unlink)
    log = request.beside(_LOG_SUFFIX)
    samples = request.beside(SAMPLES_SUFFIX)
    with (
        tempfile.TemporaryDirectory(prefix="tracekit-collect-") as folder,
        Launch(Path(folder)) as launch,
    ):
        command = [
            str(nsys.path),
            "profile",
            *options,
            f"--output={_pattern(request.stem)}",
            *launch.prefix,
            *request.command,
        ]
        request.say(f"Running {shlex.join(command)}")
        ended = launch.run(command, log, request.variables, samples=samples)
    reports = reports_of(request.stem)
    if not reports:
        raise _no_report(nsys, request, ended, log)
    ended.check_alone(reports)
    status = ended.status
    return Collected(
        reports,
        ended.profiler_status if status is None else status,
        beside=kept_samples(samples),
        program_ns=ended.program_ns,
    )


def reports_of(stem: Path) -> list[Path]:
    """Return the reports with a name; a repeated range makes numbered ones."""
    made = [
        path
        for suffix in REPORT_SUFFIXES
        for path in (
            stem.with_name(stem.name + suffix),
            *stem.parent.glob(f"{glob.escape(stem.name)}.[0-9]*{suffix}"),
        )
        if path.is_file()
    ]
    return sorted(made)


def _pattern(stem: Path) -> str:
    """Return a path in which nsys finds nothing to replace but the rank."""
    task = task_in(os.environ)
    path = str(stem.absolute()).replace("%", "%%")
    if task is None or not path.endswith(f"-rank-{task.rank}"):
        return path
    # Every task then runs the same command.
    return f"{path.removesuffix(str(task.rank))}%q{{{task.variable}}}"


def _usable_nsys() -> Nsys:
    found = find_nsys()
    if found is None:
        raise MissingToolError(
            "there is no nsys on the PATH or in the usual folders",
            hint=f"install Nsight Systems, or set {VARIABLE} to the path of nsys",
        )
    library = library_named_in(found.failure)
    if library:
        raise MissingToolError(
            f"{found} cannot run: the shared library {library} is missing",
            hint=install_advice(library),
        )
    if found.failure:
        raise MissingToolError(
            f"{found.path} does not run: {found.failure}",
            hint=f"set {VARIABLE} to the path of another nsys",
        )
    return found


def _options(nsys: Nsys, recording: Recording, wanted: CaptureRange) -> list[str]:
    """Return the options, by the names that this nsys knows."""
    # Only an option beyond the base is worth asking the program for.
    known = _help(nsys) if set(recording.asked_by.values()) - {"light"} else ""
    options = [f"--trace={','.join(recording.trace)}"]
    for option, value in recording.options.items():
        name = option
        if known and f"--{name}" not in known:
            name = recording.older.get(option, option)
        if known and f"--{name}" not in known:
            raise MissingToolError(
                f"{nsys} does not know --{option}, which the preset "
                f"`{recording.asked_by[option]}` needs",
                hint="install a newer Nsight Systems, or leave the preset out",
            )
        options.append(f"--{name}={value}")
    return [*options, "--force-overwrite=true", *wanted.options()]


def _help(nsys: Nsys) -> str:
    try:
        done = subprocess.run(
            [nsys.path, "profile", "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_S,
            check=False,
            env=child_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr if "--trace" in done.stdout + done.stderr else ""


def _no_report(nsys: Nsys, request: Request, ended: Ended, log: Path) -> CollectError:
    printed = _quoted(ended.printed)
    stream = _kept_stream(request.stem, ended.printed)
    if stream is not None:
        importer = _importer(nsys)
        library = library_named_in(ended.printed) or _library_missing_to(importer)
        why = f": its importer needs {library}, which is missing" if library else ""
        by_hand = (
            f"{importer or 'QdstrmImporter'} -i {stream} -o {request.stem}.nsys-rep"
        )
        advice = f"{install_advice(library)}; then " if library else ""
        return CollectError(
            f"{nsys} made no report{why}\nThe raw stream is kept: {stream}{printed}",
            hint=f"{advice}{by_hand}\nand tracekit convert {request.stem}.nsys-rep",
        )
    if ended.program_status is None and ended.interrupted_by is None:
        return CollectError(
            f"{nsys} ended with status {ended.profiler_status} and the program did "
            f"not end under it{printed}",
            hint=f"what it printed is in {log}",
        )
    if not request.capture_range.is_whole:
        return CollectError(
            f"{nsys} made no report: the program never entered the range "
            f"`{request.capture_range}`{printed}",
            hint="look whether it calls cudaProfilerStart, or opens the range, or "
            "trace the whole run with --range whole",
        )
    return CollectError(
        f"{nsys} made no report, although the program ended with status "
        f"{ended.status}{printed}",
        hint=f"what nsys printed is in {log}",
    )


def _kept_stream(stem: Path, printed: str) -> Path | None:
    """Return the raw stream, moved beside where the report would be."""
    place = stem.with_name(stem.name + STREAM_SUFFIX)
    if place.is_file():
        return place
    for named in _STREAM_NAMED.findall(printed):
        if Path(named).is_file():
            return Path(shutil.move(named, place))
    return None


def _importer(nsys: Nsys) -> Path | None:
    home = nsys.path.resolve().parent
    found = [*home.glob("QdstrmImporter"), *home.parent.glob("*/QdstrmImporter")]
    return found[0] if found else None


def _library_missing_to(importer: Path | None) -> str | None:
    if importer is None:
        return None
    try:
        done = subprocess.run(
            [importer, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_S,
            check=False,
            env=child_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return library_named_in(done.stderr + done.stdout)


def _quoted(printed: str) -> str:
    parts = (
        part.rstrip() for line in printed.splitlines() for part in line.split("\r")
    )
    lines = [part for part in parts if part and not _BAR.search(part)]
    return "".join(f"\n  | {line}" for line in lines[-_SHOWN_LINES:])
