"""Reads what memory.sh recorded, and compares it with arithmetic and with PyTorch.

python docs/measured/memory_check.py FOLDER

Prints the tables of memory.md, in MB of 1e6 bytes; ends with status 1 where a byte is
wrong.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import tracekit
from tracekit.convert import convert

_BLOCK = 512
_CLASSES = (
    "weights",
    "weight_gradients",
    "dynamic",
    "feature_maps",
    "activation_gradients",
    "temporaries",
    "workspace",
    "communication",
    "input",
    "unknown",
)
Classes = dict[str, int]


def blocks(*elements: int, size: int = 4) -> int:
    """Return the bytes of tensors of so many elements, each rounded up."""
    return sum(-(-count * size // _BLOCK) * _BLOCK for count in elements)


def mlp(batch: int) -> Classes:
    """Return what Adam's step of the MLP holds: the roots of all second moments."""
    parameters = blocks(1024 * 2048, 2048, 2048 * 2048, 2048, 2048 * 16, 16)
    return {
        "weights": parameters,
        "weight_gradients": parameters,
        "dynamic": 2 * parameters,
        # And the loss.
        "temporaries": parameters + _BLOCK,
        "input": blocks(batch * 1024) + blocks(batch, size=8),
    }


def cnn_maps(batch: int) -> list[int]:
    """Return the blocks that the CNN saves for its backward pass."""
    inside, pooled = batch * 16 * 32 * 32, batch * 16 * 16 * 16
    return sorted(
        [
            blocks(inside),
            blocks(pooled),
            blocks(pooled, size=8),
            blocks(batch * 10),
            blocks(1),
        ]
    )


def main() -> None:
    """Print the tables."""
    folder = Path(sys.argv[1])
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        print(f"| capture | peak | torch's | {' | '.join(_CLASSES)} | unknown share |")
        print("|---" * (len(_CLASSES) + 4) + "|")
        for capture in sorted(path for path in folder.iterdir() if path.is_dir()):
            for number, file in enumerate(sorted(capture.glob("*.gz"))):
                run = Path(scratch) / f"{capture.name}-{number}.run"
                convert([file], run)
                wrong += _show(capture.name, tracekit.open(run))
    print(f"{wrong} values are wrong")
    sys.exit(1 if wrong else 0)


def _show(name: str, trace: tracekit.Trace) -> int:
    rows = [
        row
        for row in trace.query("memory.breakdown").to_arrow().to_pylist()
        if row["device_id"] is not None
    ]
    if not rows:
        return 0
    found: Classes = {row["memory_class"]: row["bytes_at_peak"] for row in rows}
    peak = rows[0]["peak_bytes"]
    (said,) = _sql(
        trace,
        "SELECT value::BIGINT AS said FROM run_fact"
        " WHERE key = 'memory.max_allocated_bytes.0'",
    )
    cells = [f"{found.get(each, 0) / 1e6:.1f}" for each in _CLASSES]
    share = found.get("unknown", 0) / peak
    print(
        f"| {name} | {peak / 1e6:.1f} | {said['said'] / 1e6:.1f} |"
        f" {' | '.join(cells)} | {share:.2%} |"
    )
    wrong = _compare(f"{name}: peak", peak, said["said"])
    wrong += _compare(f"{name}: classes", sum(found.values()), peak)
    if name.startswith("mlp"):
        batch = int(name.partition("-")[2] or 512)
        for each, size in mlp(batch).items():
            wrong += _compare(f"{name}: {each}", found.get(each, 0), size)
    if name == "cnn":
        maps = _sql(
            trace,
            "SELECT bytes FROM memory_block WHERE memory_class = 'feature_maps'"
            " AND start_ns >= (SELECT max(start_ns) FROM step) ORDER BY bytes",
        )
        wrong += _compare(
            "cnn: feature maps", [row["bytes"] for row in maps], cnn_maps(64)
        )
    return wrong


def _compare(what: str, found: object, expected: object) -> int:
    if found == expected:
        return 0
    print(f"wrong: {what} is {found}, not {expected}")
    return 1


def _sql(trace: tracekit.Trace, text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = trace.sql(text).to_arrow().to_pylist()
    return rows


if __name__ == "__main__":
    main()
