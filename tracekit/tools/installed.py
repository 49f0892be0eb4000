"""Finds the newest of several installed versions of a program, or the one named."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import MissingToolError

_START_S = 30
# What a shell and the loader end with; any other status is one that it chose.
_NOT_STARTED = (126, 127)

Version = tuple[int, ...]


@dataclass(frozen=True)
class Installed:
    """A program that is installed.

    Attributes:
        path: The program.
        version: Its version; empty where it tells none.
        failure: What it printed instead of its version; empty where it starts.
    """

    path: Path
    version: Version
    failure: str = ""

    def __str__(self) -> str:
        name = self.path.name
        return f"{name} {version_text(self.version)}" if self.version else name


@dataclass(frozen=True)
class Search:
    """Where a program may be.

    Attributes:
        name: The program's name.
        variable: The variable of the environment that names the one to use.
        patterns: Where its installers put it, without the root.
        root: The root of the file system.
        version: Finds its version in what `--version` prints, as the first group.
    """

    name: str
    variable: str
    patterns: Sequence[str]
    root: Path
    version: re.Pattern[str]

    def find(self) -> Installed | None:
        """Return the program to use, or None.

        That is the one the variable names, else the newest of those on the PATH and
        in the usual folders. One that does not start is returned only if no other is
        there.

        Raises:
            MissingToolError: The variable names something that is no program.
        """
        named = os.environ.get(self.variable)
        if named:
            return self._examined(self._named(Path(named)))
        found = [self._examined(path) for path in self._installed()]
        # The first of equals: what is on the PATH comes before the usual folders.
        return max(found, key=lambda one: (not one.failure, one.version), default=None)

    def _named(self, path: Path) -> Path:
        program = path / self.name if path.is_dir() else path
        if not _is_program(program):
            raise MissingToolError(
                f"{self.variable} is {path}, which is no program",
                hint=f"set {self.variable} to the path of {self.name}, or unset it",
            )
        return program

    def _installed(self) -> Iterator[Path]:
        """Yield each one once, whatever links lead to it."""
        seen: set[Path] = set()
        for path in (*self._on_path(), *self._in_usual_folders()):
            if _is_program(path) and path.resolve() not in seen:
                seen.add(path.resolve())
                yield path

    def _on_path(self) -> Iterator[Path]:
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            if folder:
                yield Path(folder) / self.name

    def _in_usual_folders(self) -> Iterator[Path]:
        for pattern in self.patterns:
            yield from sorted(self.root.glob(pattern.removeprefix("/")))

    def _examined(self, path: Path) -> Installed:
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
            return Installed(path, (), f"it does not start: {error}")
        match = self.version.search(done.stdout) or self.version.search(done.stderr)
        if match:
            return Installed(path, tuple(int(part) for part in match[1].split(".")))
        if done.returncode < 0 or done.returncode in _NOT_STARTED:
            text = (done.stderr.strip() or done.stdout.strip()).splitlines()
            failure = text[-1] if text else f"status {done.returncode}"
            return Installed(path, (), failure)
        return Installed(path, ())


def version_text(version: Version) -> str:
    """Return a version as its program prints it."""
    return ".".join(str(part) for part in version)


def child_environment(**more: str) -> dict[str, str]:
    """Return the environment that NVIDIA's programs run in: messages in English."""
    return {**os.environ, "LC_ALL": "C", **more}


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
