"""A stand-in for `ncu`: it checks its arguments as ncu does, and prints its texts.

A part of the texts was taken down from ncu 2025.3.1 on an H200, see
docs/measured/counters.md; the others are those of NVIDIA's documentation.
"""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

VERSION = (
    "NVIDIA (R) Nsight Compute Command Line Profiler\n"
    "Copyright (c) 2018-2025 NVIDIA Corporation\n"
    "Version 2025.3.1.0 (build 36398880) (public-release)"
)
NOT_ALLOWED = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA "
    "GPU Performance Counters on the target device 0. For instructions on enabling "
    "permissions and to get more information see "
    "https://developer.nvidia.com/ERR_NVGPUCTRPERM"
)
NO_KERNELS = "==WARNING== No kernels were profiled."

_PROGRAM = """
import json, pathlib, subprocess, sys
does = json.loads({does!r})
arguments = sys.argv[1:]
with pathlib.Path(does["log"]).open("a") as log:
    log.write(json.dumps(arguments) + "\\n")
if arguments == ["--version"]:
    print(does["version"])
elif arguments == ["--query-metrics"]:
    print("Device " + does["device"])
    print("-" * 60 + " " + "-" * 11)
    print("Metric Name                              Metric Type     Metric Unit")
    for name in does["metrics"]:
        print(name.ljust(60) + " Counter         inst            # of something")
elif arguments[:1] == ["--import"]:
    assert arguments[2:] == does["import"], arguments
    sys.stdout.write(pathlib.Path(does["table"]).read_text())
else:
    report = None
    while arguments[0].startswith("--"):
        name = arguments.pop(0)
        if name in ("--nvtx", "--force-overwrite"):
            continue
        value = arguments.pop(0)
        if name == "--export":
            report = pathlib.Path(value)
        elif name not in does["options"]:
            sys.exit("==ERROR== unrecognised option '" + name + "'. Use --help for "
                     "further details.")
    print("==PROF== Connected to process 470 (/usr/bin/python3.12)", flush=True)
    status = subprocess.run(arguments, close_fds=False).returncode
    print("==PROF== Disconnected from process 470")
    if does["fails"]:
        sys.exit(does["fails"])
    report.write_bytes(b"NVR\\0")
    print("==PROF== Report: " + str(report))
    sys.exit(status)
"""
_OPTIONS = (
    "--target-processes",
    "--clock-control",
    "--check-exit-code",
    "--metrics",
    "--profile-from-start",
    "--nvtx-include",
    "--kernel-name-base",
    "--kernel-name",
    "--launch-skip",
    "--launch-count",
)
_IMPORT = (
    *("--csv", "--page", "raw"),
    *("--print-kernel-base", "mangled", "--print-units", "base"),
)


@dataclass(frozen=True)
class NcuStandIn:
    """A program that was written, and what it was asked."""

    path: Path

    @property
    def asked(self) -> list[list[str]]:
        """The arguments of each call that was to measure."""
        lines = self.path.with_name("ncu.jsonl").read_bytes().splitlines()
        calls = [msgspec.json.decode(line, type=list[str]) for line in lines]
        return [words for words in calls if words[0] == "--target-processes"]


def ncu_stand_in(
    folder: Path,
    table: Path,
    *,
    metrics: Sequence[str],
    device: str = "NVIDIA H200 (GH100)",
    fails: str = "",
) -> NcuStandIn:
    """Write a program `ncu` into `folder`.

    Args:
        folder: The folder; made if it is not there.
        table: What it prints for its report.
        metrics: The metrics it knows, without their suffixes.
        device: The GPU that it sees.
        fails: What it prints instead of making a report.
    """
    folder.mkdir(parents=True, exist_ok=True)
    does = {
        "log": str(folder / "ncu.jsonl"),
        "version": VERSION,
        "device": device,
        "metrics": list(metrics),
        "import": _IMPORT,
        "options": _OPTIONS,
        "table": str(table),
        "fails": fails,
    }
    program = folder / "ncu_program.py"
    program.write_text(_PROGRAM.format(does=json.dumps(does)))
    path = folder / "ncu"
    # Without site-packages it starts in a third of the time.
    command = shlex.join([sys.executable, "-I", "-S", str(program)])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
    return NcuStandIn(path)
