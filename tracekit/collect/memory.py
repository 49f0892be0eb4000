"""Runs a PyTorch program with the memory recorder in it; no profiler beside it."""

import shlex
import shutil
import tempfile
from pathlib import Path

from tracekit.collect import checks
from tracekit.collect.process import Launch
from tracekit.collect.request import Collected, Request, kept_samples, make_room
from tracekit.collect.sampling import SUFFIX as SAMPLES_SUFFIX
from tracekit.errors import CollectError, UsageError

SUFFIX = ".memory"


def collect(request: Request) -> Collected:
    """Run a program and return the folder with a memory capture of each process.

    Raises:
        UsageError: The command or an option rules a capture out.
        CollectError: No process of the program trained with PyTorch.
        OutputError: The capture cannot be written where it should be.
    """
    checks.check_program(request.command)
    if request.presets or not request.capture_range.is_whole:
        raise UsageError(
            "--memory records the first steps of a program, and has no presets",
            hint="leave --preset and --range out; TRACEKIT_TORCH_MEMORY_STEPS=N says "
            "how many steps",
        )
    folder = request.beside(SUFFIX)
    make_room(request, [folder] if folder.exists() else [], _remove)
    folder.mkdir()
    settings = {"TRACEKIT_TORCH_MEMORY": str(folder.absolute()), **request.variables}
    samples = request.beside(SAMPLES_SUFFIX)
    shown = [f"{name}={value}" for name, value in settings.items()]
    request.say(f"Running {shlex.join(['env', *shown, *request.command])}")
    with (
        tempfile.TemporaryDirectory(prefix="tracekit-collect-") as notes,
        Launch(Path(notes)) as launch,
    ):
        ended = launch.run(
            [*launch.prefix, *request.command],
            request.beside(".log"),
            settings,
            samples=samples,
            hooks=("torch_memory",),
        )
    status = ended.status
    status = ended.profiler_status if status is None else status
    if not any(folder.iterdir()):
        folder.rmdir()
        raise CollectError(
            "no process of the program ran a model or an optimizer of PyTorch; it "
            f"ended with status {status}",
            hint="look whether the program got that far, and whether Python was "
            "started with -I, -E or -S, which leave the recorder out",
        )
    return Collected(
        [folder],
        status,
        beside=kept_samples(samples),
        holds=frozenset({"memory_event"}),
        what="allocation",
        hint="look whether the program allocated tensors while it was recorded",
    )


def _remove(folder: Path) -> None:
    shutil.rmtree(folder)
