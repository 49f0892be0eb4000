"""A CUDA graph, launched several times.

Traced as a whole it is a row a launch; traced node by node it is the kernels inside,
which all have their launch's correlation id.
"""

import torch
from common import answer, gpu

_NODES, _LAUNCHES = 7, 5


def main() -> None:
    """Capture 7 kernels into a graph and launch it 5 times."""
    device = gpu()
    values = torch.ones(1000, device=device)
    # Allocations and the kernel's module are made before the capture.
    values.mul_(1.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_NODES):
            values.mul_(1.5)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push("graph")
    for _ in range(_LAUNCHES):
        graph.replay()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    answer(
        range="graph",
        graph_launches=_LAUNCHES,
        kernels_a_launch=_NODES,
        kernels=_NODES * _LAUNCHES,
    )


if __name__ == "__main__":
    main()
