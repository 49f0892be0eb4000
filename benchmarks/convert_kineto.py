"""Converts a synthetic PyTorch trace, side by side with other readers of it.

    python benchmarks/convert_kineto.py [--megabytes 500] [--peer-python PYTHON]

The trace has the events of a training loop as Kineto writes them: operators with
nested args, runtime calls, kernels, links, allocations. Each reader runs in a process
of its own, all of them on one core. The second is plain `json.load` and a loop over the
events; the third is HolisticTraceAnalysis, in a virtual environment of its own:

    python -m venv hta && hta/bin/pip install HolisticTraceAnalysis
    python benchmarks/convert_kineto.py --peer-python hta/bin/python
"""

import argparse
import gzip
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measuring import machine

ROOT = Path(__file__).resolve().parents[1]
MB = 1_000_000

_CONVERT = """
import sys
from pathlib import Path
from tracekit.convert import convert
convert([Path(sys.argv[1])], Path(sys.argv[2]))
"""
_JSON = """
import json, sys
with open(sys.argv[1]) as file:
    trace = json.load(file)
rows = [
    (e.get("cat"), e.get("name"), e.get("ts"), e.get("dur"),
     (e.get("args") or {}).get("correlation"))
    for e in trace["traceEvents"]
]
assert rows
"""
_PEER = """
import os, sys
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=os.path.dirname(sys.argv[1]))
"""


class Ran(NamedTuple):
    """What a run took: seconds of wall and CPU, MiB at the peak."""

    wall: float
    user: float
    system: float
    peak_mib: float


def main() -> None:
    """Write the traces, run the readers, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[500])
    parser.add_argument("--gzip", action="store_true", help="the trace as .gz too")
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--only", choices=["tracekit"])
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    print(machine())
    # "MB/s" is that of one core, whatever threads a reader has.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(
        f"{'reader':24} {'MB':>6} {'wall s':>8} {'user s':>8} {'sys s':>7} "
        f"{'MB/s':>7} {'MB/user s':>9} {'peak MiB':>9}"
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        for megabytes in options.megabytes:
            trace = folder / f"rank-0-{megabytes}.json"
            write_trace(trace, megabytes * MB)
            size = trace.stat().st_size / MB
            report("tracekit", size, run(sys.executable, _CONVERT, trace, folder))
            if options.gzip:
                packed = compress(trace)
                ratio = trace.stat().st_size / packed.stat().st_size
                ran = run(sys.executable, _CONVERT, packed, folder)
                report(f"tracekit, gz {ratio:.1f}:1", size, ran)
                packed.unlink()
            if options.only is None:
                report("json.load and a loop", size, run(sys.executable, _JSON, trace))
                if options.peer_python is None:
                    print("HolisticTraceAnalysis    not compared (see --peer-python)")
                else:
                    ran = run(str(options.peer_python), _PEER, trace)
                    report("HolisticTraceAnalysis", size, ran)
            trace.unlink()


def run(python: str, code: str, trace: Path, folder: Path | None = None) -> Ran:
    """Run a reader in a process of its own."""
    arguments = [python, "-c", code, str(trace)]
    if folder is not None:
        arguments.append(str(folder / "run"))
        shutil.rmtree(folder / "run", ignore_errors=True)
    begun = time.perf_counter()
    process = subprocess.Popen(
        arguments,
        env={**os.environ, "PYTHONPATH": str(ROOT)} if folder else None,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(said.decode(errors="replace"))
    return Ran(wall, used.ru_utime, used.ru_stime, used.ru_maxrss / 1024)


def report(reader: str, size: float, ran: Ran) -> None:
    """Print one line of the table."""
    print(
        f"{reader:24} {size:6.0f} {ran.wall:8.2f} {ran.user:8.2f} {ran.system:7.2f} "
        f"{size / ran.wall:7.1f} {size / ran.user:9.1f} {ran.peak_mib:9.0f}",
        flush=True,
    )


def compress(trace: Path) -> Path:
    """Write the trace with gzip, at the level that the profiler uses."""
    packed = trace.with_name(trace.name + ".gz")
    with trace.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as file:
        shutil.copyfileobj(plain, file, 1 << 20)
    return packed


def write_trace(path: Path, size: int) -> None:
    """Write a trace of about `size` bytes, in the layout of Kineto's writer."""
    with path.open("w") as file:
        written = file.write(_HEADER)
        for text in events():
            written += file.write(text)
            if written > size:
                break
        file.write(_LAST)


def events() -> Iterator[str]:
    """Yield the events of operators that each launch a kernel, without end."""
    rng = random.Random(0)
    clock = 5_229_397_000_000_000
    correlation = 0
    address = 0x7F0000000000
    while True:
        sequence = correlation // 3
        name = rng.choice(_OPERATORS)
        kernel = rng.choice(_KERNELS)
        batch, width = rng.choice((8, 16, 32, 64)), rng.choice((64, 256, 512, 1024))
        shape = f"[[{batch}, {width}], [{width}, {width}], []]"
        strides = f"[[{width}, 1], [1, {width}], []]"
        began = clock
        for depth in range(2):
            yield (
                '  {\n    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 3058, '
                '"tid": 3098,\n    "ts": %s, "dur": %s,\n    "args": {\n      '
                '"External id": %d,"Record function id": 0, "Sequence number": %d, '
                '"Fwd thread id": %d, "Concrete Inputs": ["", "", "1"], "Input type": '
                '["float", "float", "Scalar"], "Input Strides": %s, "Input Dims": %s, '
                '"Ev Idx": %d\n    }\n  },\n'
                % (
                    name + ("" if depth == 0 else "_impl"),
                    micro(began + depth * 900),
                    micro(40_000 - depth * 5000),
                    correlation + depth,
                    sequence,
                    depth,
                    strides,
                    shape,
                    correlation + depth,
                )
            )
        for _ in range(2):
            correlation += 1
            clock += rng.randrange(3000, 9000)
            call = "cudaGetLastError" if correlation % 2 else "cudaLaunchKernel"
            yield (
                '  {\n    "ph": "X", "cat": "cuda_runtime", "name": "%s", "pid": 3058, '
                '"tid": 3098,\n    "ts": %s, "dur": %s,\n    "args": {\n      '
                '"External id": %d, "cbid": 211, "correlation": %d\n    }\n  },\n'
                % (call, micro(clock), micro(2513), correlation, correlation)
            )
        yield (
            '  {\n    "ph": "s", "id": %d, "pid": 3058, "tid": 3098, "ts": %s,\n    '
            '"cat": "ac2g", "name": "ac2g"\n  },\n' % (correlation, micro(clock))
        )
        start = clock + rng.randrange(4000, 60_000)
        length = rng.randrange(900, 90_000)
        yield (
            '  {\n    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7,\n'
            '    "ts": %s, "dur": %s,\n    "args": {\n      "External id": %d,      '
            '"queued": 0, "device": 0, "context": 1,      "stream": 7, '
            '"correlation": %d,      "registers per thread": 32,      '
            '"shared memory": 4224,      "blocks per SM": 380.121216,      '
            '"warps per SM": 3040.969727,      "grid": [%d, 1, 32],      '
            '"block": [256, 1, 1],      "est. achieved occupancy %%": 100\n    }\n'
            "  },\n"
            % (
                kernel,
                micro(start),
                micro(length),
                correlation,
                correlation,
                batch * width // 64,
            )
        )
        yield (
            '  {\n    "ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": %s,\n    '
            '"cat": "ac2g", "name": "ac2g", "bp": "e"\n  },\n'
            % (correlation, micro(start))
        )
        if correlation % 4 == 0:
            address += 512
            yield (
                '  {\n    "ph": "i", "cat": "cpu_instant_event", "s": "t", '
                '"name": "[memory]", "pid": 3058, "tid": 3098,\n    "ts": %s,\n    '
                '"args": {\n      "Total Reserved": 3684696064, "Total Allocated": '
                '3042038272, "Bytes": %d, "Device Id": 0, "Device Type": 1, "Addr": %d,'
                ' "Ev Idx": %d\n    }\n  },\n'
                % (micro(clock), 512, address, correlation)
            )
        clock += rng.randrange(1000, 20_000)


def micro(nanoseconds: int) -> str:
    """Return microseconds with three places."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


_HEADER = """
  {
    "schemaVersion": 1,
    "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,
      "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132
    }
    ],
      "record_shapes": 1,
      "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
"""
_LAST = """  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": 5229397612867.904
  }
  ],
  "traceName": "synthetic.json"
}
"""
_OPERATORS = tuple(
    f"aten::{name}"
    for name in (
        "addmm",
        "convolution_backward",
        "cudnn_convolution",
        "native_batch_norm",
        "threshold_backward",
        "add_",
        "mul",
        "copy_",
        "mm",
        "_softmax",
    )
)
_KERNELS = tuple(
    "void at::native::vectorized_elementwise_kernel<"
    f"{width}, at::native::{functor}<{kind}>, std::array<char*, 3ul> >(int, "
    f"at::native::{functor}<{kind}>, std::array<char*, 3ul>)"
    for width in (1, 2, 4, 8)
    for functor in ("CUDAFunctor_add", "BinaryFunctor", "AUnaryFunctor", "FillFunctor")
    for kind in ("float", "c10::Half", "c10::BFloat16", "double", "long")
)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
