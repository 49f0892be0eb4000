"""Switches the own profiler of a framework on, in a program that knows nothing of it.

`collectors/python/profiler.py` does it, in each Python process of the program.
"""

import functools
import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tracekit.collect import checks
from tracekit.collect.presets import combined
from tracekit.collect.process import Launch
from tracekit.collect.request import (
    GPU_WORK,
    Collected,
    Request,
    kept_samples,
    make_room,
)
from tracekit.collect.sampling import SUFFIX as SAMPLES_SUFFIX
from tracekit.errors import CollectError, UsageError

_HOLDS = frozenset({"operator", "annotation", "step"}) | GPU_WORK
_SHOWN = 3


class _Event(msgspec.Struct):
    """A line that the hook wrote.

    Attributes:
        event: imported, captured, failed or never_started.
        paths: The captures.
        what: What failed.
        error: Why.
        steps: Training steps that were counted.
    """

    event: str
    paths: list[str] = []
    what: str = ""
    error: str = ""
    steps: int = 0


def collect(request: Request, framework: str) -> Collected:
    """Run a program with a framework's profiler on, and return what it wrote.

    Args:
        request: What is to be traced.
        framework: The name of its module.

    Raises:
        UsageError: The command, a preset, the range or the environment rule it out.
        CollectError: No process imported the framework, or its profiler failed.
        OutputError: The capture cannot be written where it should be.
    """
    checks.check_program(request.command)
    recording = combined(request.presets, framework)
    wanted = request.capture_range
    if not wanted.is_whole and wanted.steps is None:
        raise UsageError(
            f"the collector {framework} cannot record `{wanted}` only",
            hint="use --range steps:FROM:TO or whole",
        )
    checks.check_other_profilers(f"the profiler of {framework}", os.environ)
    folder = request.beside(f".{framework}")
    make_room(request, [folder] if folder.exists() else [], _remove)
    folder.mkdir()
    samples = request.beside(SAMPLES_SUFFIX)
    with (
        tempfile.TemporaryDirectory(prefix="tracekit-collect-") as notes,
        Launch(Path(notes)) as launch,
    ):
        options = ",".join(f"{k}={v}" for k, v in recording.options.items())
        settings = {
            "TRACEKIT_PROFILER": framework,
            "TRACEKIT_PROFILER_FOLDER": str(folder.absolute()),
            **({"TRACEKIT_PROFILER_OPTIONS": options} if options else {}),
        }
        if wanted.steps is not None:
            settings["TRACEKIT_PROFILER_STEPS"] = "{}:{}".format(*wanted.steps)
        shown = [f"{name}={value}" for name, value in settings.items()]
        request.say(f"Running {shlex.join(['env', *shown, *request.command])}")
        ended = launch.run(
            [*launch.prefix, *request.command],
            request.beside(".log"),
            {**request.variables, **settings},
            samples=samples,
            hooks=["profiler"],
        )
    status = ended.profiler_status if ended.status is None else ended.status
    events = _events(folder)
    captures = [Path(p) for one in events for p in one.paths if Path(p).is_file()]
    if not captures:
        raise _nothing(framework, request, events, status)
    for event in events:
        if event.event == "failed":
            request.say(f"Warning: {framework} at {event.what}: {event.error}")
    # The process that did most comes first, and gives the run its name.
    captures.sort(key=lambda capture: (-capture.stat().st_size, capture.name))
    return Collected(
        [_as_written(capture, folder) for capture in captures],
        status,
        beside=kept_samples(samples),
        holds=_HOLDS,
        what="operator and no step",
        hint="look whether the program trains while it is recorded",
        is_one_job=all("rank-" in capture.name for capture in captures),
    )


torch = functools.partial(collect, framework="torch")
tensorflow = functools.partial(collect, framework="tensorflow")
mxnet = functools.partial(collect, framework="mxnet")
cntk = functools.partial(collect, framework="cntk")


def _remove(folder: Path) -> None:
    shutil.rmtree(folder)


def _events(folder: Path) -> list[_Event]:
    """Return what the processes noted, in the order of their ids."""
    decode = msgspec.json.Decoder(_Event).decode
    found = []
    for path in sorted(folder.glob("events.*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                found.append(decode(line))
            except msgspec.DecodeError:
                # The process ended within the line.
                continue
    return found


def _as_written(capture: Path, folder: Path) -> Path:
    """Return the capture by the name of the folder as the user gave it."""
    return folder / capture.relative_to(folder.absolute())


def _nothing(
    framework: str, request: Request, events: Sequence[_Event], status: int
) -> CollectError:
    failed = [one for one in events if one.event == "failed"]
    if failed:
        said = "".join(f"\n  | {one.what}: {one.error}" for one in failed[:_SHOWN])
        return CollectError(
            f"the profiler of {framework} failed{said}",
            hint="another profiler may run in the program: use one at a time",
        )
    waited = [one.steps for one in events if one.event == "never_started"]
    if waited:
        return CollectError(
            f"the program ended after {max(waited)} training steps, before "
            f"`{request.capture_range}` began",
            hint="name earlier steps, or record the --range whole",
        )
    if events:
        return CollectError(
            f"the profiler of {framework} wrote no capture; the program ended with "
            f"status {status}",
            hint="a process that is killed, or ends by os._exit, writes none",
        )
    return CollectError(
        f"no Python process of the program imported {framework}; it ended with "
        f"status {status}",
        hint=f"look whether it uses {framework}, and whether its Python takes "
        "PYTHONPATH (not with -I, -E or -S)",
    )
