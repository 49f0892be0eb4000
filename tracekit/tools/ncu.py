"""Finds the `ncu` to run: the newest one installed, or the one the user names."""

import re
from pathlib import Path

from tracekit.tools.installed import Installed, Search

VARIABLE = "TRACEKIT_NCU"
"""Names the ncu to use: the program, or the folder that it is in."""

# Where the installers of NVIDIA put it.
INSTALL_PATTERNS = (
    "/opt/nvidia/nsight-compute/*/ncu",
    "/usr/local/cuda*/bin/ncu",
    "/usr/local/cuda*/nsight-compute-*/ncu",
    "/usr/lib/nsight-compute/ncu",
    "/usr/lib/nvidia-cuda-toolkit/bin/ncu",
    "/opt/nvidia/hpc_sdk/*/*/profilers/Nsight_Compute/ncu",
)
ROOT = Path("/")
_VERSION = re.compile(r"Version (\d+(?:\.\d+)+)")


def find_ncu() -> Installed | None:
    """Return the ncu to use, or None; see `Search.find`.

    Raises:
        MissingToolError: TRACEKIT_NCU names something that is no program.
    """
    return Search("ncu", VARIABLE, INSTALL_PATTERNS, ROOT, _VERSION).find()
