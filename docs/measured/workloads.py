"""Collects the workloads with nsys and with cupti, and compares what the two recorded.

    python docs/measured/workloads.py FOLDER [--rounds 5] [--steps 12] [WORKLOAD ...]

Needs a GPU; TRACEKIT_NSYS names nsys. Each round trains every workload under each of
the two; one has the GPU at a time, the next ones start and captures are converted
meanwhile. FOLDER gets
`workloads.csv`, a row a workload, `workloads.md`, the same to be read, and
`kernels.csv`, the total of each run. workloads.md beside this file is a log of it.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tracekit

COLLECTORS = ("nsys", "cupti")
TRACEKIT = (sys.executable, "-m", "tracekit")
# The first iterations build plans and workspaces.
WARM_UP = 3
TOP = 5

# One process at a time has the GPU; the next ones import PyTorch meanwhile.
IN_TURN = (
    "import fcntl, runpy, sys, torch; turn = open('turn', 'w');"
    "fcntl.flock(turn, fcntl.LOCK_EX); sys.argv = sys.argv[1:];"
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)

Row = dict[str, Any]


def main() -> None:
    """Collect, convert, compare, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("workloads", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--limit-s", type=int, default=60)
    parser.add_argument("--lanes", type=int, default=5)
    parser.add_argument("--budget-s", type=int, default=3600, help="to begin runs in")
    given = parser.parse_args()
    folder: Path = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    began = time.monotonic()
    with ThreadPoolExecutor(6) as converting:
        conversions: list[Future[str]] = []
        jobs = [
            (number, name, collector)
            for number in range(given.rounds)
            for name in given.workloads
            for collector in (COLLECTORS if number else ("untraced", *COLLECTORS))
        ]

        def one(job: tuple[int, str, str]) -> None:
            number, name, collector = job
            if time.monotonic() - began > given.budget_s:
                return
            stem = f"{name}-{collector}-{number}"
            said = capture(name, collector, stem, given.steps, given.limit_s)
            print(f"{time.monotonic() - began:4.0f} s {stem} {said}", flush=True)
            if said == "":
                conversions.append(converting.submit(convert, stem))

        with ThreadPoolExecutor(given.lanes) as lanes:
            list(lanes.map(one, jobs))
        failures = [said for one in conversions if (said := one.result())]
    print("\n".join(failures), flush=True)
    print(f"{time.monotonic() - began:4.0f} s collected and converted", flush=True)
    rows, totals = [], []
    for name in given.workloads:
        try:
            row, found = compare(name, given.rounds)
        except Exception as error:
            print(f"{name} cannot be compared: {error!r}")
            continue
        rows.append({"workload": name, **row, **untraced_beside(name)})
        totals += found
    write(folder, rows, totals)


def run(words: Sequence[str], limit_s: int) -> subprocess.CompletedProcess[str]:
    """Run a command; one over its time is ended, with status 124."""
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            # The collectors pass it on to what they trace, which must not keep the GPU.
            process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
            return subprocess.CompletedProcess(words, 124, "", "over its time")
        return subprocess.CompletedProcess(words, process.returncode, out, err)


def capture(name: str, collector: str, stem: str, steps: int, limit_s: int) -> str:
    """Run one training, traced or not; return what went wrong."""
    code = (
        "import os, sys; from pathlib import Path;"
        "from tracekit.collect import cupti, nsys, workloads as w;"
        "from tracekit.collect.request import Request;"
        "from tracekit.tools.interpreters import Interpreter;"
        f"t = w.Training(name={name!r}, steps={steps});"
        f"record = str(Path({stem!r} + w.RECORD_SUFFIX).absolute());"
        "folder = w.scripts().__enter__();"
        "words = w.command(t, Interpreter(sys.executable), folder);"
        f"words[1:1] = ['-c', {IN_TURN!r}];"
        "variables = {w.RECORD_VARIABLE: record};"
    )
    if collector == "untraced":
        code += "os.environ |= variables; os.execv(words[0], words)"
    else:
        code += (
            f"made = {collector}.collect(Request(command=words, stem=Path({stem!r}),"
            "replace=True, variables=variables)); sys.exit(made.status)"
        )
    done = run([sys.executable, "-c", code], limit_s)
    if collector == "untraced" and done.returncode == 0:
        print(done.stdout.strip(), flush=True)
    return "" if done.returncode == 0 else f"{done.returncode} {done.stderr[-500:]}"


def convert(stem: str) -> str:
    """Make the run of a capture; return what went wrong."""
    files = [f"{stem}.workload.jsonl"]
    for suffix in (".cupti", ".nsys-rep"):
        if Path(stem + suffix).exists():
            files.insert(0, stem + suffix)
    words = [*TRACEKIT, "convert", "--quiet", *files, "-o", f"{stem}.run", "--force"]
    done = run(words, 120)
    return "" if done.returncode == 0 else f"{stem}: {done.stderr[-500:]}"


def runs_of(name: str, collector: str, rounds: int) -> list[tracekit.Trace]:
    """Return the runs that were made."""
    paths = [Path(f"{name}-{collector}-{number}.run") for number in range(rounds)]
    return [tracekit.open(path) for path in paths if path.exists()]


def per_step(run_: tracekit.Trace) -> list[tuple[int, int, int]]:
    """Return step, kernels launched in it and their time, of steps after the warm-up.

    By the launch: the backward pass is launched by a thread of its own.
    """
    found = run_.sql(
        "SELECT step.step_index, count(*) AS kernels, "
        "sum(launch.end_ns - launch.start_ns)::BIGINT AS total_ns "
        "FROM step JOIN launch ON launch.process_id = step.process_id "
        "AND launch.call_start_ns >= step.start_ns "
        "AND launch.call_start_ns < step.end_ns "
        "WHERE launch.activity = 'kernel' "
        f"AND step.step_index >= {WARM_UP} GROUP BY ALL ORDER BY ALL"
    ).to_arrow()
    return [tuple(row.values()) for row in found.to_pylist()]


def compare(name: str, rounds: int) -> tuple[Row, list[Row]]:
    """Return what the two collectors recorded of a workload, side by side."""
    row: Row = {}
    totals: list[Row] = []
    counts: dict[str, list[int]] = {}
    tops: dict[str, list[str]] = {}
    middle: dict[str, float] = {}
    spread: dict[str, float] = {}
    for collector in COLLECTORS:
        traces = runs_of(name, collector, rounds)
        steps = [per_step(trace) for trace in traces]
        sums = [sum(total for _, _, total in run_) for run_ in steps]
        totals += [
            {"workload": name, "collector": collector, "round": number, "total_ns": n}
            for number, n in enumerate(sums)
        ]
        counts[collector] = sorted({kernels for one in steps for _, kernels, _ in one})
        middle[collector] = statistics.median(sums)
        spread[collector] = statistics.median(
            abs(total - middle[collector]) for total in sums
        )
        tops[collector] = hotspots(traces[0])
        row[f"{collector} runs"] = len(traces)
        row[f"{collector} kernels"] = counts[collector]
        row[f"{collector} ms"] = round(middle[collector] / 1e6, 3)
        row[f"{collector} MAD ms"] = round(spread[collector] / 1e6, 3)
        row[f"{collector} samples/s"] = throughput(traces[0])
        row[f"{collector} flagged"] = flagged(traces[0])
    row["same count"] = counts["nsys"] == counts["cupti"]
    difference = abs(middle["nsys"] - middle["cupti"])
    row["difference ms"] = round(difference / 1e6, 3)
    row["within 3 MAD"] = difference < 3 * max(spread.values())
    row["same top five"] = tops["nsys"] == tops["cupti"]
    if not row["same top five"]:
        for collector in COLLECTORS:
            print(
                name, collector, *(text[:100] for text in tops[collector]), sep="\n  "
            )
    row["nsys stats"] = against_stats(name, rounds)
    return row, totals


def hotspots(trace: tracekit.Trace) -> list[str]:
    """Return the kernels that take the most time in the stable steps."""
    found = trace.query(
        "kernels.hotspots", window="steps", limit=TOP, names="canonical"
    ).to_arrow()
    return [str(text) for text in found.column("kernel_name").to_pylist()]


def throughput(trace: tracekit.Trace) -> float | None:
    """Return samples a second over the stable steps."""
    for row in trace.query("tbd.summary").to_arrow().to_pylist():
        if row["metric"] == "throughput" and row["value"] is not None:
            return round(row["value"], 2)
    return None


def flagged(trace: tracekit.Trace) -> bool:
    """Tell whether no stable steps were found."""
    rows = trace.sql("SELECT bool_or(flagged) AS flagged FROM stable_step").to_arrow()
    return bool(rows.to_pylist()[0]["flagged"])


def untraced_beside(name: str) -> Row:
    """Return the throughput without a profiler."""
    (plain, *_) = [*runs_of(name, "untraced", 1), None]
    return {"untraced samples/s": None if plain is None else throughput(plain)}


def against_stats(name: str, rounds: int) -> str:
    """Compare kernels by name with what nsys itself reports."""
    nsys = os.environ.get("TRACEKIT_NSYS", "nsys")
    stem = f"{name}-nsys-0"
    export = Path(f"{stem}.stats.sqlite")
    made = run(
        [nsys, "export", "-t", "sqlite", "-o", str(export), f"{stem}.nsys-rep"], 120
    )
    words = [nsys, "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv"]
    done = run([*words, "--output", "-", str(export)], 120)
    lines = done.stdout.splitlines()
    heads = [place for place, line in enumerate(lines) if line.startswith("Time (%)")]
    if not heads:
        return f"no report: {(made.stderr + done.stderr)[-200:]}"
    theirs = sorted(
        (line["Name"], int(line["Instances"]), int(line["Total Time (ns)"]))
        for line in csv.DictReader(lines[heads[0] :])
        if line["Name"]
    )
    found = runs_of(name, "nsys", rounds)[0].query("kernels.hotspots", limit=0)
    ours = sorted(
        (row["kernel_name"], row["launches"], row["total_ns"])
        for row in found.to_arrow().to_pylist()
    )
    return f"{len(ours)} lines equal" if ours == theirs else "DIFFERENT"


def write(folder: Path, rows: list[Row], totals: list[Row]) -> None:
    """Write the tables, and print the one to be read."""
    for name, lines in (("workloads.csv", rows), ("kernels.csv", totals)):
        with (folder / name).open("w", newline="") as file:
            if lines:
                table = csv.DictWriter(file, lines[0])
                table.writeheader()
                table.writerows(lines)
    if not rows:
        return
    shown: Callable[[object], str] = lambda value: (  # noqa: E731 - one line of a table
        json.dumps(value) if isinstance(value, list | bool) else str(value)
    )
    head = list(rows[0])
    text = [" | ".join(head), " | ".join("---" for _ in head)]
    text += [" | ".join(shown(row[name]) for name in head) for row in rows]
    page = "\n".join(f"| {line} |" for line in text) + "\n"
    (folder / "workloads.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
