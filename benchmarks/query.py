"""Runs every query on a large run, warm, each in a process of its own.

    python benchmarks/query.py [--kernels 5000000] [--folder DIR] [NAME ...]

A query is asked twice in its process; the second answer is timed. The memory is that
of the whole process. `kernels.hotspots` reads one table once and is the measure of the
machine: the column x compares each query with it. A query that takes more than 10 s or
3 GB has its reason beside it, or the benchmark fails; one that the run lacks the data
for says so.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import machine
from synthetic_nsys import write_export

YARDSTICK = "kernels.hotspots"
MOST_SECONDS = 10
MOST_MB = 3000
# Of 10 M kernels and 20 M calls, on two cores.
REASONS = {
    "annotations.gpu_projection": "each range is met with all work launched inside",
    "annotations.gpu_projection_trace": "each range is met with all work inside",
    "gpu.idle_attribution": "sorts all work with its calls, ties in a fixed order",
    "layers.breakdown": "finds the layer of each call among 2 M ranges, and sorts both",
}


def ask(name: str, run: Path) -> dict[str, float]:
    """Ask a query twice; return seconds and CPU seconds of the second, and memory."""
    import resource

    from tracekit.query import load_module, run_module
    from tracekit.store.run import open_run

    opened, module = open_run(run), load_module(name)
    given = {p.name: "1" for p in module.parameters if p.required}
    run_module(module, [opened], given)
    begin, used = time.monotonic(), time.process_time()
    answer = run_module(module, [opened], given)
    lacking = f"{name} needs "
    return {
        "wall_s": time.monotonic() - begin,
        "cpu_s": time.process_time() - used,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rows": answer.table.num_rows,
        "lacks_data": any(reason.startswith(lacking) for reason in answer.reasons),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--kernels", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path, help="keep the run here")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(ask(options.ask, options.folder)))
        return
    from tracekit.convert import convert
    from tracekit.query import module_names

    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = options.folder or Path(scratch)
        run = folder / f"nsys-{options.kernels}.run"
        if not run.exists():
            export = folder / f"nsys-{options.kernels}.sqlite"
            if not export.exists():
                write_export(export, options.kernels)
            convert([export], run)
        names = options.names or list(module_names())
        print(f"{options.kernels:,} kernels; {machine()}")
        title = ("", "wall s", "CPU s", "peak MB", "rows", "x")
        print("{:36}{:>9}{:>9}{:>9}{:>12}{:>8}".format(*title))
        unit = measure(YARDSTICK, run)["wall_s"]
        unexplained = []
        for name in names:
            found = measure(name, run)
            note = "lacks its data" if found["lacks_data"] else ""
            if found["wall_s"] > MOST_SECONDS or found["peak_mb"] > MOST_MB:
                note = REASONS.get(name, "OVER THE LIMIT")
                unexplained += [] if name in REASONS else [name]
            print(
                f"{name:36}{found['wall_s']:9.2f}{found['cpu_s']:9.2f}"
                f"{found['peak_mb']:9,.0f}{found['rows']:12,}"
                f"{found['wall_s'] / unit:8.1f}  {note}",
                flush=True,
            )
    if unexplained:
        sys.exit(f"over {MOST_SECONDS} s or {MOST_MB} MB: {', '.join(unexplained)}")


def measure(name: str, run: Path) -> dict[str, float]:
    """Ask a query in a process of its own."""
    arguments = [sys.executable, __file__, f"--ask={name}", f"--folder={run}"]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
