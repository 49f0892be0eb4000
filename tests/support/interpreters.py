"""Stands in for a Python that has a framework: a script that notes what it is asked."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """#!/bin/sh
if [ "$1" = -c ]; then
  echo noise of a sitecustomize
  [ "$3" = {framework} ] && has=true || has=false
  echo "tracekit:[$has, \\"9.8.7\\", \\"3.6.15\\"]"
  exit 0
fi
printf '%s\\n' "$@" >{folder}/asked
env >{folder}/environment
[ -z "$TRACEKIT_WORKLOAD_RECORD" ] || cat {folder}/record >"$TRACEKIT_WORKLOAD_RECORD"
echo trained
exit {status}
"""


@dataclass(frozen=True)
class StandInPython:
    """The script, and what it was started with."""

    path: Path

    @property
    def asked(self) -> list[str]:
        """The arguments of the last start."""
        return (self.path.parent / "asked").read_text().splitlines()

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the last start."""
        text = (self.path.parent / "environment").read_text()
        pairs = (line.partition("=") for line in text.splitlines())
        return {name: value for name, _, value in pairs}


def stand_in_python(
    folder: Path, framework: str = "torch", status: int = 0
) -> StandInPython:
    """Make an interpreter that has a framework and trains two iterations."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, object]] = [
        {"tracekit_workload": 1, "workload": "resnet50", "unit": "images"},
        {"step": 0, "start_ns": 10, "end_ns": 20, "samples": 32},
        {"step": 1, "start_ns": 20, "end_ns": 30, "samples": 32},
        {"outcome": "out_of_memory" if status else "done"},
    ]
    (folder / "record").write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = folder / "python"
    path.write_text(
        _SCRIPT.format(
            framework=framework, folder=shlex.quote(str(folder)), status=status
        )
    )
    path.chmod(0o755)
    return StandInPython(path)
