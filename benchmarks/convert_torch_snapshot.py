"""Converts a synthetic memory snapshot of PyTorch, and asks where the memory went.

    python benchmarks/convert_torch_snapshot.py [--events 1000000]

The snapshot has what an allocator's history has after long training: allocations and
releases with call stacks of Python, of a few hundred places, in `--events` events. Each
measured process runs by itself.
"""

import argparse
import pickle
import random
import tempfile
from pathlib import Path
from typing import Any

from measuring import cost_of, machine

_CONVERT = """
import sys
from pathlib import Path
from tracekit.convert import convert
convert([Path(sys.argv[1])], Path(sys.argv[2]))
"""
_QUERY = """
import sys
import tracekit
tracekit.open(sys.argv[1]).query(sys.argv[2]).to_arrow()
"""
_PLACES = 300
_ALIVE = 2_000
_BASE = 0x7F00_0000_0000


def main() -> None:
    """Write the snapshot, convert it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        capture, run = Path(name) / "snapshot.pickle", Path(name) / "snapshot.run"
        capture.write_bytes(pickle.dumps(snapshot(options.events)))
        print(f"{options.events} events, {capture.stat().st_size / 1e6:.0f} MB")
        print(f"{'':24} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}")
        _report("convert", ["-c", _CONVERT, str(capture), str(run)])
        for query in ("memory.breakdown", "memory.largest"):
            _report(query, ["-c", _QUERY, str(run), query])


def _report(what: str, arguments: list[str]) -> None:
    cost = cost_of(arguments)
    print(f"{what:24} {cost.wall_s:8.1f} {cost.cpu_s:8.1f} {cost.peak_mb:8.0f}")


def snapshot(count: int) -> dict[str, Any]:
    """Return a snapshot with that many events."""
    random.seed(0)
    stacks = [
        [
            {
                "name": f"function_{place}",
                "filename": f"/a/{place % 17}.py",
                "line": line,
            }
            for line in range(12)
        ]
        for place in range(_PLACES)
    ]
    events: list[dict[str, Any]] = []
    alive: list[tuple[int, int, int]] = []
    free: list[int] = []
    top = 0
    while len(events) < count:
        stack = stacks[random.randrange(_PLACES)]
        common = {"stream": 0, "time_us": 1_700_000_000_000_000 + len(events)}
        if len(alive) < _ALIVE or random.random() < 0.34:
            place = free.pop() if free else top
            top = max(top, place + 1)
            size = random.randrange(1, 1 << 20)
            alive.append((place, size, len(events)))
            what: tuple[str, ...] = ("alloc",)
        else:
            index = random.randrange(len(alive))
            alive[index], alive[-1] = alive[-1], alive[index]
            place, size, _ = alive.pop()
            free.append(place)
            what = ("free_requested", "free_completed")
        events += [
            {
                "action": action,
                "addr": _BASE + (place << 20),
                "size": size,
                "frames": stack,
                **common,
            }
            for action in what
        ]
    held = {place: size for place, size, _ in alive}
    blocks = []
    for place in range(top):
        size = -(-held.get(place, 0) // 512) * 512
        state = "active_allocated" if size else "inactive"
        address = _BASE + (place << 20)
        requested = held.get(place, 0)
        blocks.append(_block(address, size or 1 << 20, requested, state))
        if size and size < 1 << 20:
            blocks.append(_block(address + size, (1 << 20) - size, 0, "inactive"))
    segment = {
        "device": 0,
        "address": _BASE,
        "total_size": top << 20,
        "allocated_size": sum(-(-size // 512) * 512 for size in held.values()),
        "stream": 0,
        "segment_type": "large",
        "blocks": blocks,
    }
    return {"segments": [segment], "device_traces": [events]}


def _block(address: int, size: int, requested: int, state: str) -> dict[str, Any]:
    return {
        "address": address,
        "size": size,
        "requested_size": requested,
        "state": state,
        "frames": [],
    }


if __name__ == "__main__":
    main()
