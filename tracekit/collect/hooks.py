"""What runs in the Python interpreters of a traced program: see collectors/python."""

import os
from collections.abc import Iterable, Mapping
from importlib.resources import as_file
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tracekit.assets import assets

_ALWAYS = ("facts", "profilers")


class Hooks:
    """Gives a program the variables that start hooks, and takes what they noted.

    A context manager.

    Args:
        folder: Takes what the hooks note.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources = as_file(assets("collectors") / "python")
        self._path = Path()

    def __enter__(self) -> Self:
        self._path = self._sources.__enter__()
        self._folder.mkdir(exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sources.__exit__(kind, error, trace)

    def variables(
        self, environment: Mapping[str, str], names: Iterable[str] = ()
    ) -> dict[str, str]:
        """Return the variables that start those of every program and those named."""
        paths = [str(self._path), environment.get("PYTHONPATH", "")]
        return {
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "TRACEKIT_HOOKS": ",".join((*_ALWAYS, *names)),
            "TRACEKIT_FACTS": str(self._folder.absolute()),
        }

    def other_profilers(self) -> list[str]:
        """Return the profilers that the program started itself."""
        noted = sorted(self._folder.glob("*.profiler"))
        return sorted({file.read_text() for file in noted})

    def facts(self) -> dict[str, str]:
        """Return the versions and flags that the program's processes noted.

        Where they differ from process to process, all values are told.
        """
        found: dict[str, list[str]] = {}
        for file in sorted(self._folder.glob("*.json")):
            try:
                noted = msgspec.json.decode(file.read_bytes(), type=dict[str, str])
            except (OSError, msgspec.DecodeError):
                continue
            for key, value in noted.items():
                if value not in found.setdefault(key, []):
                    found[key].append(value)
        return {key: ", ".join(values) for key, values in found.items()}
