"""What a collector is asked for, and what it gives back."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.collect.parts import Part
from tracekit.collect.ranges import WHOLE_RUN, CaptureRange
from tracekit.collect.ranks import task_in
from tracekit.errors import OutputError, UsageError

GPU_WORK = frozenset({"kernel", "memcpy", "memset", "graph_launch"})


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be traced, and how.

    Attributes:
        command: The program and its arguments.
        stem: Where the capture goes, without its suffix.
        presets: What to record beside the base preset.
        capture_range: The part of the run to record.
        part: The kernels to read counters of; None for all in the range.
        replace: Whether earlier captures of this name may be replaced.
        variables: Further variables of the program's environment.
        say: Told what is run.
    """

    command: Sequence[str]
    stem: Path
    presets: Sequence[str] = ()
    capture_range: CaptureRange = WHOLE_RUN
    part: Part | None = None
    replace: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _: None

    def beside(self, suffix: str) -> Path:
        """Return the path of a part of the capture."""
        return self.stem.with_name(self.stem.name + suffix)


@dataclass(frozen=True)
class Collected:
    """A capture that was made.

    Attributes:
        captures: The captures; several where a range was entered several times.
        status: The status of the program, 128 + n for a signal.
        is_one_job: Whether several captures are the ranks of one job, and one run.
        beside: Captures that belong to each of them, such as samples of the machine.
        holds: The tables of which one must have rows, or nothing was recorded.
        what: What those are, for the user.
        hint: What to do where there is nothing.
        program_ns: How long the program ran; None where that is not known.
    """

    captures: list[Path]
    status: int
    is_one_job: bool = False
    beside: list[Path] = field(default_factory=list)
    holds: frozenset[str] = GPU_WORK
    what: str = "GPU work"
    hint: str = (
        "look whether the program used the GPU while it was recorded, and whether "
        "another profiler (torch.profiler, ncu) ran in it"
    )
    program_ns: int | None = None


def capture_stem(stem: Path) -> Path:
    """Return where this task's capture goes: each of several has its own."""
    task = task_in(os.environ)
    return stem if task is None else stem.with_name(f"{stem.name}-rank-{task.rank}")


def kept_samples(path: Path) -> list[Path]:
    """Return the samples as a list, without them if they could not be written."""
    return [path] if path.is_file() and path.stat().st_size else []


def already_there(capture: Path) -> UsageError:
    """Return the error for a capture whose name is taken."""
    return UsageError(
        f"{capture} exists", hint="give another name, or replace it with --force"
    )


def make_room(
    request: Request, earlier: Sequence[Path], remove: Callable[[Path], None]
) -> None:
    """Remove earlier captures of the name, if they may be, and make the folder.

    Raises:
        UsageError: There are some, and they may not be replaced.
        OutputError: The folder cannot be written.
    """
    if earlier and not request.replace:
        raise already_there(earlier[0])
    try:
        request.stem.parent.mkdir(parents=True, exist_ok=True)
        for path in earlier:
            remove(path)
        request.beside(".log").touch()
    except OSError as error:
        raise OutputError(
            f"{request.stem.parent} cannot be written: {error.strerror}"
        ) from error
