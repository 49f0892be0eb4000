"""Kernels with the host asleep between them: the GPU is idle, and the host is why.

python gaps.py [GAP_MS] [COUNT]
"""

import sys
import time

import torch
from common import answer, cycles_of, gpu


def main() -> None:
    """Run kernels of 5 ms, each launched GAP_MS after the last one's end."""
    gap_ms = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    gpu()
    spin = cycles_of(5)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push("gaps")
    for _ in range(count):
        torch.cuda._sleep(spin)
        torch.cuda.synchronize()
        time.sleep(gap_ms / 1e3)
    torch.cuda.nvtx.range_pop()
    answer(
        range="gaps",
        kernels=count,
        kernel_ms=5,
        gaps=count - 1,
        # A sleep is never shorter, and a launch comes on top.
        gap_ms_at_least=gap_ms,
        cause="host_late",
    )


if __name__ == "__main__":
    main()
