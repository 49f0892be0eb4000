"""Copies to the GPU while a kernel runs, then the same one after the other.

In the range `beside` the copy lies within the kernel on another stream, in the range
`after` it begins when the kernel has ended: the overlap is the whole copy, and nothing.
"""

import torch
from common import answer, cycles_of, gpu

_BYTES = 64 << 20


def main() -> None:
    """Copy 64 MiB beside a kernel of 50 ms, and after one."""
    device = gpu()
    host = torch.empty(_BYTES, dtype=torch.uint8).pin_memory()
    there = torch.empty(_BYTES, dtype=torch.uint8, device=device)
    there.copy_(host)
    spin = cycles_of(50)
    copying, computing = torch.cuda.Stream(), torch.cuda.Stream()
    for name in ("beside", "after"):
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_push(name)
        with torch.cuda.stream(computing):
            torch.cuda._sleep(spin)
        if name == "after":
            copying.wait_stream(computing)
        with torch.cuda.stream(copying):
            there.copy_(host, non_blocking=True)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    answer(
        ranges=["beside", "after"],
        kernels_each=1,
        copies_each=1,
        bytes_each=_BYTES,
        kernel_ms=50,
        overlapped_share={"beside": 1.0, "after": 0.0},
    )


if __name__ == "__main__":
    main()
