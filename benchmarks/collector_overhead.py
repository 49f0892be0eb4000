"""Measures what each collector adds to a launch, one process after another.

    python benchmarks/collector_overhead.py [--rounds 3] [--loop torch|plain]
        [--diagnose] [-o FILE.json] [COLLECTOR ...]

Needs a GPU. A loop launches tiny kernels as fast as the host can (`launches.py` in
PyTorch, `launches.cu` without a framework, built with nvcc). Each round runs it under
every collector, so that a drift of the machine reaches all alike; the table has the
median of all repetitions. `--diagnose` takes the native collector apart: records it can
do without, and other ways to collect them.
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
_KINDS = "kernel,memcpy,memset,sync,memory,marker,overhead,device,context"
_DIAGNOSED = {
    "subscribed only": {"TRACEKIT_CUPTI_RECORDS": "none"},
    "kernels": {"TRACEKIT_CUPTI_RECORDS": "kernel"},
    "kernels, no subscriber": {
        "TRACEKIT_CUPTI_RECORDS": "kernel",
        "TRACEKIT_CUPTI_TRY": "nosubscriber",
    },
    "kernels, runtime calls": {"TRACEKIT_CUPTI_RECORDS": "kernel,runtime"},
    "kernels, runtime launches": {
        "TRACEKIT_CUPTI_RECORDS": "kernel,runtime",
        "TRACEKIT_CUPTI_TRY": "launches",
    },
    "kernels, all calls": {"TRACEKIT_CUPTI_RECORDS": "kernel,runtime,driver"},
    "no calls": {"TRACEKIT_CUPTI_RECORDS": _KINDS},
    "runtime calls only": {"TRACEKIT_CUPTI_RECORDS": "runtime"},
    **{
        f"without {kind}": {
            "TRACEKIT_CUPTI_RECORDS": ",".join(
                name
                for name in (*_KINDS.split(","), "runtime", "driver")
                if name != kind
            )
        }
        for kind in ("sync", "memory", "marker", "overhead", "driver")
    },
    **{
        word: {"TRACEKIT_CUPTI_TRY": word}
        for word in (
            *("noflush", "pthreadid", "nosubscriber", "discard", "clock"),
            *("zeroed", "pinned", "shared", "own"),
            "noflush,pthreadid,nosubscriber,clock,zeroed,own",
        )
    },
    "best guess": {
        "TRACEKIT_CUPTI_RECORDS": "kernel,memcpy,memset,runtime",
        "TRACEKIT_CUPTI_TRY": "noflush,pthreadid,nosubscriber,clock,zeroed,own",
    },
    "every call": {"TRACEKIT_CUPTI_CALLS": "all"},
}


@dataclass(frozen=True)
class Way:
    """One way to run the loop."""

    name: str
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    taken_ns: list[float] = field(default_factory=list)


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
        found += [
            Way(f"  {name}", variables={**native, **changed})
            for name, changed in _DIAGNOSED.items()
        ]
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
    way.taken_ns.extend(json.loads(lines[0]))
    took = time.monotonic() - begin
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return f"{took:.1f} s" + (f"; {said[-1][:150]}" if said else "")


def table(tried: Sequence[Way]) -> str:
    """Return medians, what is added to the untraced one, and its share of nsys's."""
    medians = {way.name: statistics.median(way.taken_ns) for way in tried}
    base = medians["untraced"]
    most = medians["nsys"] - base if "nsys" in medians else None
    lines = [f"{'':50} {'µs':>7} {'MAD':>6} {'added':>6} {'ratio':>6} {'of nsys':>7}"]
    for way in tried:
        median = medians[way.name]
        spread = statistics.median(abs(taken - median) for taken in way.taken_ns)
        share = f"{(median - base) / most:7.2f}" if most else ""
        lines.append(
            f"{way.name:50} {median / 1000:7.2f} {spread / 1000:6.2f} "
            f"{(median - base) / 1000:6.2f} {median / base:6.2f} {share}"
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
            tried = [way for way in tried if not way.after]
        for number in range(options.rounds):
            for way in tried:
                said = run(way, program, folder)
                print(f"round {number + 1}: {way.name.strip()}: {said}", flush=True)
    measured = [way for way in tried if way.taken_ns]
    print(table(measured))
    if options.output:
        taken = {way.name.strip(): way.taken_ns for way in measured}
        options.output.write_text(json.dumps(taken, indent=1))


main()
