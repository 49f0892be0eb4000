"""Small traces of PyTorch as text, to be spoiled."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.kineto import Row, rows
from tracekit.convert import convert
from tracekit.store.run import Run

Event = dict[str, Any]

HEADER: dict[str, Any] = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "GPU", "numSms": 132, "warpSize": 32}],
    "baseTimeNanoseconds": 1_790_857_026_000_000_000,
}


def kernel(number: int, **changes: object) -> Event:
    """Return a kernel of 2.5 us that starts at 10, 20, 30 us and so on."""
    event: Event = {
        "ph": "X",
        "cat": "kernel",
        "name": f"kernel_{number}",
        "pid": 0,
        "tid": 7,
        "ts": 10.0 * number,
        "dur": 2.5,
        "args": {
            "device": 0,
            "context": 1,
            "stream": 7,
            "correlation": number,
            "grid": [number, 1, 1],
            "block": [32, 1, 1],
        },
    }
    return {**event, **changes}


def launch(number: int, **changes: object) -> Event:
    """Return the call that launches a kernel."""
    event: Event = {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "pid": 42,
        "tid": 43,
        "ts": 10.0 * number - 5,
        "dur": 1.0,
        "args": {"cbid": 211, "correlation": number},
    }
    return {**event, **changes}


def operator(number: int, **changes: object) -> Event:
    """Return an operator around that call."""
    event: Event = {
        "ph": "X",
        "cat": "cpu_op",
        "name": f"aten::op_{number}",
        "pid": 42,
        "tid": 43,
        "ts": 10.0 * number - 6,
        "dur": 4.0,
        "args": {"Input Dims": [[number, 2], []], "Sequence number": number},
    }
    return {**event, **changes}


def text_of(events: Sequence[Event | str], **metadata: object) -> str:
    """Return a trace; an event given as text stands as it is."""
    header = json.dumps({**HEADER, **metadata})[:-1]
    lines = [e if isinstance(e, str) else json.dumps(e) for e in events]
    return header + ', "traceEvents": [\n' + ",\n".join(lines) + "\n]}"


def converted(place: Path, content: str | bytes, name: str = "trace.json") -> Run:
    """Write a trace and convert it."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return convert([path], place / f"run-{len(list(place.iterdir()))}")


def kernels_of(run: Run) -> list[str]:
    """Return the names of the kernels, in order of start."""
    return [row["name"] for row in rows(run, "kernel")]


def notes(run: Run, kind: str) -> dict[str, int]:
    """Return what was `skipped` or `repaired`, as `what: reason`."""
    found = getattr(run.manifest, kind)
    return {f"{note.what}: {note.reason}": note.count for note in found}


def only_row(run: Run, table: str) -> Row:
    """Return the one row of a table."""
    (found,) = rows(run, table)
    return found
