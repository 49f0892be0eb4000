"""Traces a Python program through NVIDIA's `cupti-python`, without a compiler."""

import os

from tracekit.collect import checks
from tracekit.collect.cupti import record
from tracekit.collect.presets import combined
from tracekit.collect.request import Collected, Request
from tracekit.errors import UsageError

HOOK = "cupti_python"


def collect(request: Request) -> Collected:
    """Run a program whose Python interpreters record themselves.

    The capture is of the same format as the native collector's.

    Raises:
        UsageError: The command, a preset or the environment rule a capture out.
        MissingToolError: There is no GPU.
        CollectError: No process imported a framework that uses CUDA, or none of them
            has cupti-python.
        OutputError: The capture cannot be written where it should be.
    """
    checks.check_program(request.command)
    recording = combined(request.presets, "cupti")
    if not request.capture_range.is_whole:
        raise UsageError(
            f"the collector cupti-python cannot record `{request.capture_range}` only",
            hint="use --range whole, or --with cupti or nsys",
        )
    checks.check_other_profilers("the collector cupti-python", os.environ)
    checks.check_gpu()
    request.say(
        "Recording in Python costs tens of microseconds a launch; --with cupti or nsys "
        "costs less where it can run"
    )
    return record(
        request,
        recording.options,
        hooks=[HOOK],
        advice="the program's interpreter needs cupti-python of the version of its "
        "CUDA (pip install cupti-python) and a framework that uses CUDA; a program in "
        "another language needs --with cupti or nsys",
    )
