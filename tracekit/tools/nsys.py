"""Finds the `nsys` to run: the newest one installed, or the one the user names."""

import re
from pathlib import Path

from tracekit.tools.installed import (
    Installed,
    Search,
    Version,
    child_environment,
    version_text,
)

__all__ = [
    "VARIABLE",
    "Nsys",
    "Version",
    "child_environment",
    "find_nsys",
    "version_text",
]

VARIABLE = "TRACEKIT_NSYS"
"""Names the nsys to use: the program, or the folder that it is in."""

# Where the installers of NVIDIA put it, newest layout first.
INSTALL_PATTERNS = (
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-*/nsys",
    "/opt/nvidia/nsight-systems-cli/*/bin/nsys",
    "/opt/nvidia/nsight-systems-cli/*/target-linux-*/nsys",
    "/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
    "/usr/local/cuda*/bin/nsys",
    "/usr/local/cuda*/nsight-systems-*/bin/nsys",
    "/usr/local/cuda*/nsight-systems-*/target-linux-*/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
    "/usr/lib/nsight-systems/target-linux-*/nsys",
    "/usr/lib/*/nsight-systems/target-linux-*/nsys",
    "/opt/nvidia/hpc_sdk/*/*/profilers/Nsight_Systems/bin/nsys",
)
ROOT = Path("/")
_VERSION = re.compile(r"version (\d+(?:\.\d+)+)")

Nsys = Installed


def find_nsys() -> Nsys | None:
    """Return the nsys to use, or None; see `Search.find`.

    Raises:
        MissingToolError: TRACEKIT_NSYS names something that is no program.
    """
    return Search("nsys", VARIABLE, INSTALL_PATTERNS, ROOT, _VERSION).find()
