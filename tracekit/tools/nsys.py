"""Finds the `nsys` to run: the newest one installed, or the one the user names."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import MissingToolError

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
_START_S = 30
# What a shell and the loader end with; any other status is one that nsys chose.
_NOT_STARTED = (126, 127)

Version = tuple[int, ...]


@dataclass(frozen=True)
class Nsys:
    """An `nsys` that is installed.

    Attributes:
        path: The program.
        version: Its version; empty where it tells none.
        failure: What it printed instead of its version; empty where it starts.
    """

    path: Path
    version: Version
    failure: str = ""

    def __str__(self) -> str:
        return f"nsys {version_text(self.version)}" if self.version else "nsys"


def find_nsys() -> Nsys | None:
    """Return the nsys to use, or None.

    That is the one TRACEKIT_NSYS names, else the newest of those on the PATH and in
    the usual folders. One that does not start is returned only if no other is there.

    Raises:
        MissingToolError: TRACEKIT_NSYS names something that is no program.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return _examined(_named(Path(named)))
    found = [_examined(path) for path in _installed()]
    # The first of equals: what is on the PATH comes before the usual folders.
    return max(found, key=lambda nsys: (not nsys.failure, nsys.version), default=None)


def version_text(version: Version) -> str:
    """Return a version as nsys prints it."""
    return ".".join(str(part) for part in version)


def child_environment(**more: str) -> dict[str, str]:
    """Return the environment that nsys runs in: messages in English."""
    return {**os.environ, "LC_ALL": "C", **more}


def _named(path: Path) -> Path:
    program = path / "nsys" if path.is_dir() else path
    if not _is_program(program):
        raise MissingToolError(
            f"{VARIABLE} is {path}, which is no program",
            hint=f"set {VARIABLE} to the path of nsys, or unset it",
        )
    return program


def _installed() -> Iterator[Path]:
    """Yield each nsys once, whatever links lead to it."""
    seen: set[Path] = set()
    for path in (*_on_path(), *_in_usual_folders()):
        if _is_program(path) and path.resolve() not in seen:
            seen.add(path.resolve())
            yield path


def _on_path() -> Iterator[Path]:
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / "nsys"


def _in_usual_folders() -> Iterable[Path]:
    for pattern in INSTALL_PATTERNS:
        yield from sorted(ROOT.glob(pattern.removeprefix("/")))


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _examined(path: Path) -> Nsys:
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_S,
            check=False,
            env=child_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Nsys(path, (), f"it does not start: {error}")
    match = _VERSION.search(done.stdout) or _VERSION.search(done.stderr)
    if match:
        return Nsys(path, tuple(int(part) for part in match[1].split(".")))
    if done.returncode < 0 or done.returncode in _NOT_STARTED:
        text = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return Nsys(path, (), text[-1] if text else f"status {done.returncode}")
    return Nsys(path, ())
