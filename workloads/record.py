"""Writes what a workload did, one JSON object a line, for tracekit to read.

The first line says what was trained; a line for each iteration follows, and one at the
end. Runs in Python 3.6 and later, with the standard library only.
"""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

VERSION = 1


def now_ns() -> int:
    """Return the time since the Unix epoch in ns."""
    # Python 3.6 has none.
    exact = getattr(time, "time_ns", None)
    return exact() if exact else int(time.time() * 1e9)


class Record:
    """The record of one process; without a path nothing is written."""

    def __init__(self, path: "str | None", facts: dict) -> None:
        # Whole lines reach the file, so that they outlast a crash.
        self._file = None
        if path:
            self._file = Path(path).open("w", 1, encoding="utf-8")  # noqa: SIM115 - until __exit__
        self._write(dict({"tracekit_workload": VERSION, "pid": os.getpid()}, **facts))

    def __enter__(self) -> "Record":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        if self._file:
            self._file.close()

    def step(self, number: int, start_ns: int, end_ns: int, samples: float) -> None:
        """Note an iteration: its number, its times in Unix ns, what it processed."""
        self._write(
            {"step": number, "start_ns": start_ns, "end_ns": end_ns, "samples": samples}
        )

    def end(self, outcome: str, **more: object) -> None:
        """Note how the training ended: `done` or `out_of_memory`."""
        self._write(dict({"outcome": outcome}, **more))

    def _write(self, line: dict) -> None:
        if self._file:
            self._file.write(json.dumps(line) + "\n")
