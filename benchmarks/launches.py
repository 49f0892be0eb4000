"""A launch-bound loop in PyTorch: prints the nanoseconds a launch of each repetition.

    python benchmarks/launches.py REPETITIONS LAUNCHES [torch]

With `torch` it runs under the PyTorch profiler, and the last number is what stopping
that took, a launch.
"""

import json
import sys
import time

import torch


def main() -> None:
    """Run the loop."""
    repetitions, launches = int(sys.argv[1]), int(sys.argv[2])
    value = torch.zeros(16, device="cuda")
    profiler = torch.profiler.profile() if "torch" in sys.argv[3:] else None
    if profiler:
        profiler.start()
    for _ in range(3000):
        value.add_(1)
    torch.cuda.synchronize()
    taken = []
    for _ in range(repetitions):
        begin = time.perf_counter_ns()
        for _ in range(launches):
            value.add_(1)
        torch.cuda.synchronize()
        taken.append((time.perf_counter_ns() - begin) / launches)
    if profiler:
        begin = time.perf_counter_ns()
        profiler.stop()
        count = repetitions * launches
        print("stopping it:", (time.perf_counter_ns() - begin) / count, file=sys.stderr)
    print(json.dumps(taken))


main()
