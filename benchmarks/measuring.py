"""Runs a piece of work in a process of its own and measures that process."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What a process took: wall and CPU time in seconds, peak memory in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def cost_of(arguments: Sequence[str]) -> Cost:
    """Run this interpreter with `arguments` and return what it took.

    Raises:
        RuntimeError: The process failed.
    """
    begin = time.monotonic()
    process = subprocess.Popen([sys.executable, *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def machine() -> str:
    """Return what the numbers were measured on."""
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    python = sys.version.split()[0]
    return f"{cores} cores, load {load:.1f} at the start, Python {python}"
