"""Traces a program with the native CUPTI collector, without any NVIDIA tool."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracekit.collect import checks
from tracekit.collect.cupti_build import injection_library
from tracekit.collect.presets import combined
from tracekit.collect.process import Launch
from tracekit.collect.request import Collected, Request, kept_samples, make_room
from tracekit.collect.sampling import SUFFIX as SAMPLES_SUFFIX
from tracekit.errors import CollectError, UsageError

SUFFIX = ".cupti"


def collect(request: Request) -> Collected:
    """Run a program with the collector in it, and return the folder of its records.

    Raises:
        UsageError: The command, a preset or the environment rule a capture out.
        MissingToolError: There is no GPU, no compiler, or no headers of CUPTI.
        CollectError: No process of the program used CUDA.
        OutputError: The capture cannot be written where it should be.
    """
    checks.check_program(request.command)
    checks.check_range(request.capture_range, "the collector cupti")
    recording = combined(request.presets, "cupti")
    if request.capture_range.range_name:
        raise UsageError(
            f"the collector cupti cannot record `{request.capture_range}` only",
            hint="use --range cudaProfilerApi or whole, or --with nsys",
        )
    checks.check_other_profilers("the collector cupti", os.environ)
    checks.check_gpu()
    built = injection_library(request.say)
    return record(
        request,
        {
            "CUDA_INJECTION64_PATH": str(built.library),
            "NVTX_INJECTION64_PATH": str(built.library),
            **({"TRACEKIT_CUPTI_LIBRARY": str(built.cupti)} if built.cupti else {}),
            **recording.options,
        },
        advice="look whether the program uses the GPU; CUDA loads the collector by "
        "CUDA_INJECTION64_PATH, which the program must not take out of its environment",
    )


def record(
    request: Request,
    settings: Mapping[str, str],
    *,
    hooks: Sequence[str] = (),
    advice: str,
) -> Collected:
    """Run a program whose processes write their records into a folder.

    Args:
        request: What is asked for.
        settings: Variables of the program's environment.
        hooks: What to start in the program's Python interpreters.
        advice: What to do where no process wrote anything.

    Raises:
        UsageError: There is such a folder already.
        CollectError: No process wrote anything.
        OutputError: The folder cannot be made.
    """
    folder = request.beside(SUFFIX)
    make_room(request, [folder] if folder.exists() else [], _remove)
    folder.mkdir()
    variables = {
        **settings,
        "TRACEKIT_CUPTI_FOLDER": str(folder.absolute()),
        **request.variables,
    }
    if not request.capture_range.is_whole:
        variables["TRACEKIT_CUPTI_RANGE"] = request.capture_range.kind
    samples = request.beside(SAMPLES_SUFFIX)
    shown = [f"{name}={value}" for name, value in variables.items()]
    request.say(f"Running {shlex.join(['env', *shown, *request.command])}")
    with (
        tempfile.TemporaryDirectory(prefix="tracekit-collect-") as notes,
        Launch(Path(notes)) as launch,
    ):
        ended = launch.run(
            [*launch.prefix, *request.command],
            request.beside(".log"),
            variables,
            samples=samples,
            hooks=hooks,
        )
    status = ended.status
    status = ended.profiler_status if status is None else status
    if not any(folder.iterdir()):
        folder.rmdir()
        raise CollectError(
            f"no process of the program used CUDA; it ended with status {status}",
            hint=advice,
        )
    ended.check_alone([folder])
    return Collected(
        [folder],
        status,
        beside=kept_samples(samples),
        program_ns=ended.program_ns,
    )


def _remove(folder: Path) -> None:
    shutil.rmtree(folder)
