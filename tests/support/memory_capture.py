"""Hand-made memory captures of PyTorch."""

import json
from pathlib import Path
from typing import Any

EVENT = ("time_ns", "device", "address", "bytes", "operator", "operator_end_ns")
SEEN = ("time_ns", "device", "address", "class", "layer", "tag", "shape", "type")
PHASE = ("phase", "phase_end_ns")
WEIGHTS, DYNAMIC, GRADIENTS, INPUT, MAPS = range(5)


def capture(
    path: Path,
    events: list[tuple[Any, ...]],
    seen: list[tuple[Any, ...]] = [],  # noqa: B006 - never changed
    **more: object,
) -> Path:
    """Write a capture.

    Args:
        path: Where it goes.
        events: Time, device, address, bytes; further operator, its end, phase, its end.
        seen: Time, device, address, class; further layer, tag, shape, type.
        more: Other parts of the file.
    """
    names = (*EVENT, *PHASE)
    rows = [(*event, *[None] * (len(names) - len(event))) for event in events]
    table: dict[str, list[Any]] = {
        name: [row[index] for row in rows] for index, name in enumerate(names)
    }
    total, totals = 0, []
    for row in rows:
        total += row[3]
        totals.append(total)
    table |= {
        "allocated": totals,
        "reserved": [4096] * len(rows),
        "thread": [1] * len(rows),
    }
    known = [(*row, *[None] * (len(SEEN) - len(row))) for row in seen]
    content = {
        "format": "tracekit torch memory",
        "version": 1,
        "torch": "2.11.0",
        "pid": 7,
        "start_ns": 0,
        "end_ns": 10_000_000,
        "rank": None,
        "cleared_ns": None,
        "devices": [
            {"ordinal": 0, "name": "GPU", "max_allocated": 5, "max_reserved": 6}
        ],
        "layers": ["net", "net.fc"],
        "modules": [],
        "phases": [],
        "steps": [],
        "used": [],
        "operators": ["aten::mm"],
        **more,
        "events": table,
        "seen": {
            name: [row[index] for row in known] for index, name in enumerate(SEEN)
        },
    }
    path.write_text(json.dumps(content, separators=(",", ":")))
    return path
