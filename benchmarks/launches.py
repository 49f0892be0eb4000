"""A launch-bound loop in PyTorch.

    python benchmarks/launches.py REPETITIONS LAUNCHES [alternate|torch]

Prints a JSON list with, for each repetition, whether it was recorded, its nanoseconds a
launch, and those of a fixed piece of work around it, which tell how fast the core was.
With `alternate` every other repetition is outside of cudaProfilerStart and -Stop; with
`torch` all are under the PyTorch profiler.
"""

import json
import sys
import time

import torch


def launch(value: torch.Tensor, launches: int) -> float:
    """Return the nanoseconds a launch."""
    begin = time.perf_counter_ns()
    for _ in range(launches):
        value.add_(1)
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - begin) / launches


def work() -> int:
    """Return the nanoseconds that a fixed piece of work took."""
    begin = time.perf_counter_ns()
    state = 1
    for _ in range(40_000):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
    return time.perf_counter_ns() - begin


def main() -> None:
    """Run the loop."""
    repetitions, launches = int(sys.argv[1]), int(sys.argv[2])
    how = sys.argv[3] if len(sys.argv) > 3 else ""
    value = torch.zeros(16, device="cuda")
    profiler = torch.profiler.profile() if how == "torch" else None
    if profiler:
        profiler.start()
    if how != "alternate":
        torch.cuda.cudart().cudaProfilerStart()
    launch(value, 3000)
    taken = []
    for number in range(repetitions):
        is_on = how != "alternate" or number % 2 == 1
        if how == "alternate" and is_on:
            torch.cuda.cudart().cudaProfilerStart()
        launch(value, 200)
        before = work()
        one = launch(value, launches)
        taken.append([int(is_on), one, (before + work()) / 2])
        if how == "alternate" and is_on:
            torch.cuda.cudart().cudaProfilerStop()
    if profiler:
        begin = time.perf_counter_ns()
        profiler.stop()
        count = repetitions * launches
        print("stop:", (time.perf_counter_ns() - begin) / count, "ns", file=sys.stderr)
    print(json.dumps(taken))


main()
