"""Compares what whatif.kernel predicts from one configuration with the others.

    python docs/measured/whatif_compare.py FOLDER

FOLDER has what docs/measured/whatif.sh recorded. From the trace of FP32 alone, and the
speed of single matrix products, each other configuration is predicted; the error is
that of the predicted step against the measured one, both as ratios to FP32: measured
without a profiler, and in the recorded traces.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

import tracekit
from tracekit.convert import convert

SIZES = ("large", "copied", "small")
HALF = {"kernels": "all", "faster": "2", "copies": "faster"}
PREFETCH = {"kernels": "none", "copies": "hidden"}


def step_ns(trace: Path, scratch: Path) -> float | None:
    """Return the median step of a recorded configuration."""
    if not trace.exists():
        return None
    run = scratch / trace.name.removesuffix(".json.gz")
    if not run.exists():
        convert([trace], run)
    rows = tracekit.open(run).query("whatif.kernel", kernels="none").to_arrow()
    return float(statistics.median(rows["step_ns"].to_pylist()))


def main() -> None:
    """Print the table."""
    folder = Path(sys.argv[1])
    times = json.loads((folder / "times.json").read_text())
    print(f"{times['gpu']}, PyTorch {times['torch']}")
    title = ("", "FP32 ms", "predicted", "measured", "error", "traced", "error")
    print("{:18}{:>9}{:>10}{:>9}{:>8}{:>8}{:>8}".format(*title))
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        for size in SIZES:
            base = folder / f"{size}_fp32.json.gz"
            recorded = step_ns(base, scratch)
            if recorded is None:
                continue
            trace = tracekit.open(scratch / f"{size}_fp32")
            products = times[f"{size}_products"]
            asked = {
                mode: {"kernels": "gemm", "faster": str(products[mode])}
                for mode in ("tf32", "bf16")
            }
            for mode, change in {**asked, "half": HALF, "prefetch": PREFETCH}.items():
                answer = trace.query("whatif.kernel", **change).to_arrow()
                (row,) = answer.to_pylist()
                predicted = row["predicted_ns"] / row["step_ns"]
                plain = times[f"{size}_fp32"]["step_ns"]
                measured = times[f"{size}_{mode}"]["step_ns"] / plain
                other = step_ns(folder / f"{size}_{mode}.json.gz", scratch)
                traced = None if other is None else other / recorded
                cells = (
                    f"{predicted:10.3f}{measured:9.3f}{predicted / measured - 1:8.1%}"
                )
                if traced is not None:
                    cells += f"{traced:8.3f}{predicted / traced - 1:8.1%}"
                print(f"{size + ' ' + mode:18}{plain / 1e6:9.3f}{cells}")


if __name__ == "__main__":
    main()
