"""Small trainings whose memory is known by arithmetic, and ways to train.

python memory_programs.py NAME [--device cuda] [--batch N] [--steps N]

Prints a line of JSON: the most that the allocator of PyTorch had given out, and the
median time of the last half of the steps.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

Step = Callable[[], torch.Tensor]


class Wide(nn.Module):
    """Four blocks of two layers, recomputed in the backward pass if asked for."""

    def __init__(self, *, recompute: bool = False) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512), nn.LayerNorm(512)
            )
            for _ in range(4)
        )
        self.recompute = recompute

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last block's output."""
        for block in self.blocks:
            if self.recompute:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return x


def mlp(batch: int, device: str) -> Step:
    """Return the step of a 1024-2048-2048-16 MLP with Adam."""
    model = nn.Sequential(
        nn.Linear(1024, 2048),
        nn.ReLU(),
        nn.Linear(2048, 2048),
        nn.ReLU(),
        nn.Linear(2048, 16),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    images = torch.randn(batch, 1024).to(device)
    labels = torch.randint(0, 16, (batch,)).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def cnn(batch: int, device: str) -> Step:
    """Return the step of a convolution, a pooling and a linear layer with SGD."""
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 16 * 16, 10),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, 3, 32, 32).to(device)
    labels = torch.randint(0, 10, (batch,)).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def resnet50(batch: int, device: str) -> Step:
    """Return the step of ResNet-50 with SGD."""
    from torchvision.models import resnet50 as model_of

    model = model_of().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, 3, 224, 224).to(device)
    labels = torch.randint(0, 1000, (batch,)).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def way(name: str) -> Callable[[int, str], Step]:
    """Return what makes a step of `Wide` in some way: amp, accumulate, ..."""

    def make(batch: int, device: str) -> Step:
        model: nn.Module = Wide(recompute=name == "checkpoint").to(device)
        optimizer = torch.optim.AdamW(model.parameters())
        if name == "compile":
            model = torch.compile(model)
        if name == "ddp":
            os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
            os.environ.setdefault("MASTER_PORT", "29531")
            backend = "nccl" if device == "cuda" else "gloo"
            torch.distributed.init_process_group(backend, rank=0, world_size=1)
            model = nn.parallel.DistributedDataParallel(model)
        x = torch.randn(batch, 512).to(device)
        passes = 4 if name == "accumulate" else 1
        scaler = torch.amp.GradScaler(
            device, enabled=name == "amp" and device == "cuda"
        )
        half = torch.float16 if device == "cuda" else torch.bfloat16

        def step() -> torch.Tensor:
            optimizer.zero_grad()
            for _ in range(passes):
                with torch.autocast(device, half, enabled=name == "amp"):
                    loss = model(x).square().mean()
                scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss

        return step

    return make


PROGRAMS: dict[str, tuple[Callable[[int, str], Step], int]] = {
    "mlp": (mlp, 512),
    "cnn": (cnn, 64),
    "resnet50": (resnet50, 32),
    **{
        name: (way(name), 1024)
        for name in ("plain", "amp", "accumulate", "checkpoint", "compile", "ddp")
    },
}


def main() -> None:
    """Train, and say how long it took and what it held."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()
    torch.manual_seed(0)
    make, batch = PROGRAMS[options.name]
    step = make(options.batch or batch, options.device)
    times = []
    for _ in range(options.steps):
        start = time.perf_counter()
        step()
        if options.device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    said = {
        "name": options.name,
        "batch": options.batch or batch,
        "step_ms": round(1000 * statistics.median(times[options.steps // 2 :]), 3),
    }
    if options.device == "cuda":
        said["max_allocated"] = torch.cuda.max_memory_allocated()
        said["max_reserved"] = torch.cuda.max_memory_reserved()
    print(json.dumps(said))


if __name__ == "__main__":
    main()
