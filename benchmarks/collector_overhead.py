"""Measures what each collector adds to a launch, one process after another.

    python benchmarks/collector_overhead.py [--rounds 3] [--loop torch|plain]
        [--diagnose] [-o FILE.json] [COLLECTOR ...]

Needs a GPU. A loop launches tiny kernels as fast as the host can (`launches.py` in
PyTorch, `launches.cu` without a framework, built with nvcc). Each round runs it under
every collector, so that a drift of the machine reaches all alike; the table has the
median of all repetitions. `--diagnose` takes the native collector apart: what each kind
of record adds, and what it does to begin after the first CUDA context.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measuring import machine

HERE = Path(__file__).parent
_LIMIT_S = 120
_CALLS = "kernel,runtime,driver"
_COPIES = f"{_CALLS},memcpy,memset"
_LIGHT = f"{_COPIES},marker,overhead,device,context"
_ALL = f"{_LIGHT},sync,memory"
# What is recorded, and whether from the first CUDA context on or after it.
_DIAGNOSED = {
    "late": (_LIGHT, True),
    "all": (_ALL, False),
    "late all": (_ALL, True),
    "calls": (_CALLS, False),
    "late calls": (_CALLS, True),
    "copies": (_COPIES, False),
    **{
        f"copies, {kind}": (f"{_COPIES},{kind}", False)
        for kind in ("sync", "memory", "marker", "overhead", "device,context")
    },
}


@dataclass(frozen=True)
class Way:
    """One way to run the loop."""

    name: str
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    taken: list[tuple[int, float, float]] = field(default_factory=list)


def ways(names: Sequence[str], folder: Path, *, diagnose: bool) -> list[Way]:
    """Return the ways to run the loop, the untraced one first."""
    from tracekit.collect.cupti_build import injection_library
    from tracekit.tools.nsys import find_nsys

    built = injection_library()
    native = {
        "CUDA_INJECTION64_PATH": str(built.library),
        "NVTX_INJECTION64_PATH": str(built.library),
        "TRACEKIT_CUPTI_FOLDER": str(folder),
        **({"TRACEKIT_CUPTI_LIBRARY": str(built.cupti)} if built.cupti else {}),
    }
    found = [Way("untraced"), Way("cupti", variables=native)]
    nsys = find_nsys()
    if nsys:
        profile = [str(nsys.path), "profile", "--trace=cuda,nvtx", "--sample=none"]
        output = f"--output={folder / 'nsys'}"
        found.append(
            Way("nsys", (*profile, "--cpuctxsw=none", "--force-overwrite=true", output))
        )
    found.append(Way("torch profiler", after=["torch"]))
    if diagnose:
        for name, (records, is_late) in _DIAGNOSED.items():
            own = {"TRACEKIT_CUPTI_RECORDS": records}
            if is_late:
                own["TRACEKIT_CUPTI_RANGE"] = "cudaProfilerApi"
            found.append(Way(f"  {name}", variables={**native, **own}))
    wanted = ("untraced", *names)
    return [way for way in found if not names or way.name.strip() in wanted]


def run(way: Way, program: Sequence[str], folder: Path) -> str:
    """Run the loop once; returns what went wrong."""
    import os

    folder.mkdir()
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [*way.before, *program, *way.after],
            env={**os.environ, **way.variables},
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it took too long"
    finally:
        shutil.rmtree(folder)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if not lines:
        return f"status {done.returncode}: {done.stderr[-300:]}"
    way.taken.extend(json.loads(lines[0]))
    took = time.monotonic() - begin
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return f"{took:.1f} s" + (f"; {said[-1][:150]}" if said else "")


def table(tried: Sequence[Way]) -> str:
    """Return what each way adds to a launch, on a core of the same speed.

    Cores differ in speed, and a core in time: each repetition is scaled by what the
    fixed piece of work around it took, to the median of that in the untraced loop.
    """
    untraced = next(way for way in tried if way.name == "untraced")
    usual = statistics.median(work for _, _, work in untraced.taken)

    def scaled(way: Way, *, on: bool) -> list[float]:
        return [one * usual / work for is_on, one, work in way.taken if is_on == on]

    base = statistics.median(scaled(untraced, on=True))
    nsys = next((way for way in tried if way.name == "nsys"), None)
    most = statistics.median(scaled(nsys, on=True)) - base if nsys else None
    lines = [
        f"{'':42} {'µs':>6} {'MAD':>5} {'added':>6} {'ratio':>6} {'of nsys':>7} "
        f"{'as it was':>9}"
    ]
    for way in tried:
        times = scaled(way, on=True)
        median = statistics.median(times)
        spread = statistics.median(abs(taken - median) for taken in times)
        raw = statistics.median(one for is_on, one, _ in way.taken if is_on)
        off = scaled(way, on=False)
        begin = statistics.median(off) if off else base
        share = f"{(median - begin) / most:7.2f}" if most else f"{'':7}"
        lines.append(
            f"{way.name:42} {median / 1000:6.2f} {spread / 1000:5.2f} "
            f"{(median - begin) / 1000:6.2f} {median / begin:6.2f} {share} "
            f"{raw / 1000:9.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("collectors", nargs="*", metavar="COLLECTOR")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--launches", type=int, default=20_000)
    parser.add_argument("--loop", choices=("torch", "plain"), default="torch")
    parser.add_argument("--diagnose", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        program = [sys.executable, str(HERE / "launches.py")]
        if options.loop == "plain":
            program = [f"{scratch}/launches"]
            source = str(HERE / "launches.cu")
            subprocess.run(["nvcc", "-O2", "-o", *program, source], check=True)
        program += [str(options.repetitions), str(options.launches)]
        folder = Path(scratch) / "captures"
        tried = ways(options.collectors, folder, diagnose=options.diagnose)
        if options.loop == "plain":
            tried = [way for way in tried if way.after != ["torch"]]
        for number in range(options.rounds):
            for way in tried:
                said = run(way, program, folder)
                print(f"round {number + 1}: {way.name.strip()}: {said}", flush=True)
    measured = [way for way in tried if way.taken]
    print(table(measured))
    if options.output:
        taken = {way.name.strip(): way.taken for way in measured}
        options.output.write_text(json.dumps(taken, indent=1))


main()
