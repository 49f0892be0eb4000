"""Matrix products in FP32, whose FLOP are known by arithmetic.

    python gemm.py [SIDE] [COUNT]

A product of two squares of SIDE takes 2 SIDE^3 FLOP: a multiplication and an addition
for each of SIDE^2 results and SIDE steps.
"""

import sys

import torch
from common import answer, gpu


def main() -> None:
    """Run the products in a range `gemm`."""
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    device = gpu()
    left, right = (torch.randn(side, side, device=device) for _ in range(2))
    result = torch.empty(side, side, device=device)
    torch.mm(left, right, out=result)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push("gemm")
    for _ in range(count):
        torch.mm(left, right, out=result)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    answer(
        range="gemm", products=count, flop_each=2 * side**3, flop=count * 2 * side**3
    )


if __name__ == "__main__":
    main()
