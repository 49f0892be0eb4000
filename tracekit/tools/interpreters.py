"""The Python interpreters that have the frameworks; tracekit's own needs none."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.errors import MissingToolError
from tracekit.tools.config import config_path, read_config

FRAMEWORKS = ("torch", "tensorflow", "mxnet", "cntk")
_START_S = 60
# Of a virtual environment and of this process: another interpreter must not have them.
_OURS = ("PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
# Told apart from what site-packages print at the start.
_MARK = "tracekit:"
# Looks for it without importing it, which takes seconds. Python 3.6 has no metadata.
_LOOK = f"""
import importlib.util, json, sys
found = importlib.util.find_spec(sys.argv[1]) is not None
version = None
try:
    from importlib import metadata
    names = {{"tensorflow": ["tensorflow", "tensorflow-cpu", "tensorflow-intel"]}}
    for name in names.get(sys.argv[1], [sys.argv[1]]):
        try:
            version = version or metadata.version(name)
        except Exception:
            pass
except ImportError:
    pass
print("{_MARK}" + json.dumps([found, version, sys.version.split()[0]]))
"""


@dataclass(frozen=True)
class Interpreter:
    """An interpreter of the user.

    Attributes:
        python: The program.
        variables: Variables that it needs.
        named_by: Who named it: an option, the configuration, or nobody.
    """

    python: str
    variables: Mapping[str, str] = field(default_factory=dict)
    named_by: str = ""


@dataclass(frozen=True)
class Look:
    """What an interpreter has.

    Attributes:
        has_framework: Whether the framework is installed; it was not imported.
        version: The framework's version, where the interpreter tells it.
        python_version: The interpreter's version.
        failure: Why nothing is known; empty otherwise.
    """

    has_framework: bool = False
    version: str | None = None
    python_version: str = ""
    failure: str = ""


def child_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a program of another interpreter."""
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    return {**kept, **variables}


def look(interpreter: Interpreter, framework: str) -> Look:
    """Ask an interpreter for a framework, by its module's name."""
    try:
        done = subprocess.run(
            [interpreter.python, "-c", _LOOK, framework],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_S,
            check=False,
            env=child_environment(interpreter.variables),
            # A module in the working folder is no framework.
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Look(failure=f"{interpreter.python} does not start: {error}")
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            has, version, python = json.loads(line.removeprefix(_MARK))
            return Look(has, version, python)
    said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
    return Look(failure=f"{interpreter.python} fails: {said[-1]}")


def configured(framework: str) -> Interpreter | None:
    """Return the interpreter that the user's configuration names.

    Raises:
        UsageError: The configuration cannot be read.
    """
    known = read_config().env.get(framework)
    if known is None:
        return None
    python = str(Path(known.python).expanduser())
    return Interpreter(python, known.env, str(config_path()))


def interpreter_for(framework: str, python: str | None = None) -> Interpreter:
    """Return the interpreter that has a framework.

    The one given, else the configured one, else tracekit's own or the first on the PATH
    that has it.

    Args:
        framework: The name of its module.
        python: The interpreter that the user named.

    Raises:
        MissingToolError: None has it.
        UsageError: The configuration cannot be read.
    """
    known = configured(framework)
    if python is not None:
        # The variables of the configured one are for that one.
        same = known if known is not None and known.python == python else None
        named: Interpreter | None = same or Interpreter(python, named_by="--python")
    else:
        named = known
    if named is not None:
        found = look(named, framework)
        if found.has_framework:
            return named
        why = found.failure or f"{named.python} has no {framework}"
        raise MissingToolError(
            f"{why} (named by {named.named_by})",
            hint=f"name an interpreter that has {framework}: --python EXE",
        )
    names = (sys.executable, shutil.which("python3"), shutil.which("python"))
    for name in dict.fromkeys(name for name in names if name):
        if look(Interpreter(name), framework).has_framework:
            return Interpreter(name)
    raise MissingToolError(
        f"no Python on the PATH has {framework}",
        hint=f"name one that has: --python EXE, or in {config_path()}\n"
        f'[env.{framework}]\npython = "/path/to/python"',
    )
