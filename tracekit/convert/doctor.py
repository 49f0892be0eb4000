"""What works on this machine: GPU, driver, profilers, permissions."""

import ctypes
import ctypes.util
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from tracekit.errors import MissingToolError, UsageError
from tracekit.tools.config import config_path, read_config
from tracekit.tools.interpreters import configured, look
from tracekit.tools.nsys import find_nsys, version_text
from tracekit.tools.permissions import (
    COUNTERS_ADVICE,
    DRIVER,
    PARANOID,
    SAMPLING_ADVICE,
    counters_are_restricted,
    sampling_is_restricted,
    text_of,
)

OK, MISSING, LIMITED = "ok", "missing", "limited"

_IMPORTER_NEEDS = "libdw.so.1"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: What was looked for.
        status: `ok`, `missing` or `limited`.
        found: What is there.
        advice: What to do about it; empty where nothing is needed.
    """

    check: str
    status: str
    found: str
    advice: str = ""


def examine() -> list[Finding]:
    """Look at the machine; starts no GPU work and changes nothing."""
    return [
        Finding("python", OK, platform.python_version()),
        _driver(),
        *_gpus(),
        *_nsys(),
        _program("ncu", "install Nsight Compute to collect hardware counters"),
        _cupti(),
        _counters(),
        _sampling(),
        *_interpreters(),
    ]


def _interpreters() -> list[Finding]:
    """Look into the interpreters that the user's configuration names."""
    try:
        named = read_config().env
    except UsageError as error:
        return [Finding("config", LIMITED, str(error), error.hint or "")]
    found = []
    for framework in named:
        interpreter = configured(framework)
        assert interpreter is not None
        seen = look(interpreter, framework)
        check, where = f"env.{framework}", f"({interpreter.python})"
        advice = f"correct [env.{framework}] in {config_path()}"
        if seen.failure:
            found.append(Finding(check, LIMITED, seen.failure, advice))
        elif not seen.has_framework:
            text = f"Python {seen.python_version} has no {framework} {where}"
            found.append(Finding(check, MISSING, text, advice))
        else:
            text = (
                f"{seen.version or 'installed'}, Python {seen.python_version} {where}"
            )
            found.append(Finding(check, OK, text))
    return found


def _driver() -> Finding:
    version = text_of(DRIVER / "version")
    match = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", version or "")
    if match is None:
        return Finding(
            "driver",
            MISSING,
            "no NVIDIA driver",
            "none is needed to analyze; collect on a machine with a GPU",
        )
    return Finding("driver", OK, match[1])


def _gpus() -> list[Finding]:
    folders = DRIVER / "gpus"
    if not folders.is_dir():
        return [Finding("gpu", MISSING, "no NVIDIA GPU")]
    found = []
    for folder in sorted(folders.iterdir()):
        match = re.search(r"Model:\s*(.+)", text_of(folder / "information") or "")
        found.append(Finding("gpu", OK, match[1] if match else folder.name))
    return found or [Finding("gpu", MISSING, "no NVIDIA GPU")]


def _nsys() -> list[Finding]:
    advice = "install Nsight Systems, or convert on a machine that has it"
    try:
        found = find_nsys()
    except MissingToolError as error:
        return [Finding("nsys", MISSING, str(error), error.hint or advice)]
    if found is None:
        where = "neither on the PATH nor in the usual folders"
        return [Finding("nsys", MISSING, where, advice)]
    if found.failure:
        return [Finding("nsys", LIMITED, f"{found.path}: {found.failure}", advice)]
    version = version_text(found.version) or "no version told"
    return [Finding("nsys", OK, f"{version} ({found.path})"), *_nsys_importer()]


def _nsys_importer() -> list[Finding]:
    """Look for what the importer needs: without it `nsys profile` makes no report."""
    if not sys.platform.startswith("linux") or _loads(_IMPORTER_NEEDS):
        return []
    return [
        Finding(
            "nsys importer",
            LIMITED,
            f"{_IMPORTER_NEEDS} is missing: nsys profile leaves a .qdstrm, no report",
            "apt install libdw1 (Debian, Ubuntu), or dnf install elfutils-libs",
        )
    ]


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _program(name: str, advice: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(name, MISSING, "not on the PATH", advice)
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, LIMITED, f"{name} does not start: {error}", advice)
    if done.returncode:
        reason = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        return Finding(name, LIMITED, f"{name} fails: {reason[-1]}", advice)
    lines = [line for line in done.stdout.splitlines() if "ersion" in line]
    return Finding(name, OK, lines[-1].strip() if lines else path)


def _cupti() -> Finding:
    library = ctypes.util.find_library("cupti")
    if library is None:
        return Finding(
            "cupti",
            MISSING,
            "no libcupti in the loader's path",
            "install the CUDA toolkit, or pip install nvidia-cuda-cupti",
        )
    return Finding("cupti", OK, library)


def _counters() -> Finding:
    if text_of(DRIVER / "params") is None:
        return Finding("gpu counters", MISSING, "no NVIDIA driver")
    if counters_are_restricted():
        return Finding(
            "gpu counters", LIMITED, "for the administrator only", COUNTERS_ADVICE
        )
    return Finding("gpu counters", OK, "allowed")


def _sampling() -> Finding:
    text = (text_of(PARANOID) or "").strip()
    if not re.fullmatch(r"-?\d+", text):
        return Finding("cpu sampling", MISSING, "the kernel has no perf events")
    found = f"perf_event_paranoid is {text}"
    if sampling_is_restricted():
        return Finding("cpu sampling", LIMITED, found, SAMPLING_ADVICE)
    return Finding("cpu sampling", OK, found)
