"""Runs the command line, in this process or in one of its own."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tracekit.cli import main

# Root reads everything, so it gives its capabilities up; it stays the owner of what
# it owns. Others have none, and nothing happens.
WITHOUT_PRIVILEGE = """
import ctypes
_header = (ctypes.c_uint32 * 2)(0x20080522, 0)
_none = (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None).capset(_header, _none) == 0
"""
_OTHER_USER = 65534

ROOT = Path(__file__).resolve().parents[2]


_HEEDS_CTRL_C = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
)


@dataclass(frozen=True)
class Ran:
    """What a command left: its status, and what it printed."""

    status: int
    out: bytes
    err: str

    @property
    def error(self) -> str:
        """The error, which must be one line and no traceback."""
        assert "Traceback" not in self.err, self.err
        lines = [line for line in self.err.splitlines() if line.startswith("Error: ")]
        assert len(lines) == 1, self.err
        return lines[0].removeprefix("Error: ")


def run(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> Ran:
    """Run a command in this process."""
    capfd.readouterr()
    status = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    printed = capfd.readouterr()
    return Ran(status, printed.out.encode(), printed.err)


def start(
    *arguments: str | Path,
    before: str = "",
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
    out: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a command in a process of its own.

    Args:
        arguments: The command and its arguments.
        before: Python to run first, such as a limit to set.
        environment: Further variables.
        folder: Where to run it.
        out: Where its output goes.
    """
    # A shell's background job, as this process may be, ignores Ctrl-C, and so would it.
    code = f"{_HEEDS_CTRL_C}\n{before}\nfrom tracekit.cli import main\nmain()"
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    return subprocess.Popen(
        [sys.executable, "-c", code, *(str(argument) for argument in arguments)],
        stdout=out,
        stderr=subprocess.PIPE,
        env=variables,
        cwd=folder,
    )


def finish(process: subprocess.Popen[bytes]) -> Ran:
    """Wait for a command that was started."""
    out, err = process.communicate(timeout=120)
    return Ran(process.returncode, out or b"", err.decode())


def take_away(path: Path) -> None:
    """Make a path one that a process without privilege may not read or write."""
    path.chmod(0o700 if os.geteuid() == 0 else 0)
    if os.geteuid() == 0:
        os.chown(path, _OTHER_USER, _OTHER_USER)
