"""What is refused before a program is started, because no capture could come of it."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracekit.collect.presets import Recording
from tracekit.collect.ranges import CaptureRange
from tracekit.errors import MissingToolError, UsageError
from tracekit.tools.permissions import (
    COUNTERS_ADVICE,
    SAMPLING_ADVICE,
    counters_are_restricted,
    sampling_is_restricted,
)

DEVICES = Path("/dev")
# The driver of a server or a workstation, of Windows' Linux, of a Jetson.
_DEVICE_NAMES = ("nvidia[0-9]*", "dxg", "nvhost-gpu", "nvgpu")

# What switches on another user of CUPTI, of which a process can have one.
_OTHER_PROFILERS = {
    "CUDA_INJECTION64_PATH": "a profiler that is loaded into every CUDA program",
    "NVTX_INJECTION64_PATH": "a profiler that takes the NVTX ranges",
    "NSYS_PROFILING_SESSION_ID": "Nsight Systems, which runs already",
    "KINETO_USE_DAEMON": "the PyTorch profiler, on demand of a daemon",
    "NVPROF_OUTPUT_FILE": "nvprof",
}
_OFF = ("", "0")
# Their tasks are started by a daemon of the cluster and are no children of them.
_REMOTE_LAUNCHERS = frozenset({"srun", "aprun", "jsrun", "flux"})


def check_program(command: Sequence[str]) -> None:
    """Check that the command can be started and traced.

    Raises:
        UsageError: It is empty, is no program, or starts its tasks elsewhere.
    """
    if not command:
        raise UsageError(
            "there is no program to trace",
            hint="tracekit collect -o train.run -- python train.py",
        )
    program = command[0]
    if Path(program).name in _REMOTE_LAUNCHERS:
        raise UsageError(
            f"{program} starts its tasks outside of what a profiler can follow",
            hint=f"trace each task: {program} ... tracekit collect -o RUN -- PROGRAM",
        )
    if shutil.which(program) is None:
        raise UsageError(
            f"`{program}` is no program that can be run",
            hint="give its path, or put its folder onto the PATH",
        )


def check_range(wanted: CaptureRange, profiler: str) -> None:
    """Check that the profiler can record the range.

    Raises:
        UsageError: It counts training steps, which only a framework can.
    """
    if wanted.steps is not None:
        raise UsageError(
            f"{profiler} cannot record `{wanted}`: it knows no training steps",
            hint="use --range cudaProfilerApi, or the profiler of the framework: "
            "--with torch",
        )


def check_gpu() -> None:
    """Check that there is a GPU.

    Raises:
        MissingToolError: The driver shows none.
    """
    if not any(next(DEVICES.glob(name), None) for name in _DEVICE_NAMES):
        raise MissingToolError(
            "this machine has no NVIDIA GPU that could be traced",
            hint="collect where there is one (in a container: with --gpus); analyzing "
            "needs none. tracekit doctor says what was found",
        )


def check_other_profilers(profiler: str, variables: Mapping[str, str]) -> None:
    """Check that the program's environment brings no other profiler.

    Raises:
        UsageError: It does; the GPU records of one of the two would be lost.
    """
    for name, what in _OTHER_PROFILERS.items():
        if variables.get(name, "") not in _OFF:
            raise UsageError(
                f"{name} is set: {what} would run beside {profiler}, and only one can "
                "have the GPU records of a process",
                hint=f"trace with one of the two: unset {name}",
            )


def check_permissions(recording: Recording) -> None:
    """Check that the user may record what the presets ask for.

    Raises:
        MissingToolError: The driver or the kernel keeps it for the administrator.
    """
    limits = (
        ("gpu-counters", counters_are_restricted, "GPU counters", COUNTERS_ADVICE),
        ("cpu-sampling", sampling_is_restricted, "CPU sampling", SAMPLING_ADVICE),
    )
    for need, is_restricted, what, advice in limits:
        if need in recording.needs and is_restricted():
            raise MissingToolError(
                f"the preset `{recording.needs[need]}` needs {what}, which this "
                "machine allows the administrator only",
                hint=f"{advice}; or leave the preset out",
            )
