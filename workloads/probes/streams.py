"""A kernel on each of several streams at once.

The union of their times is as long as one of them; the sum is as many times as long as
there are streams, which is no utilization.
"""

import torch
from common import answer, cycles_of, gpu

_STREAMS = 4


def main() -> None:
    """Run a kernel of 20 ms on each of 4 streams, begun together."""
    gpu()
    spin = cycles_of(20)
    streams = [torch.cuda.Stream() for _ in range(_STREAMS)]
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push("streams")
    for stream in streams:
        with torch.cuda.stream(stream):
            torch.cuda._sleep(spin)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    answer(
        range="streams",
        kernels=_STREAMS,
        streams=_STREAMS,
        kernel_ms=20,
        sum_ms=20 * _STREAMS,
        union_ms=20,
    )


if __name__ == "__main__":
    main()
