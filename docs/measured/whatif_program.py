"""Trains a transformer block in several configurations, and records each.

    python docs/measured/whatif_program.py OUT [SIZE ...]

Each configuration is timed without a profiler (median of 60 steps), then recorded with
the PyTorch profiler (8 steps). OUT gets `<size>_<mode>.json.gz` and `times.json`. How
much faster the matrix products become is measured apart from the training, shape by
shape, so that a prediction needs nothing of what it predicts.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule

SIZES = {
    # layers, width, tokens of a batch
    "large": (8, 2048, 4096),
    "small": (8, 512, 512),
    # Few operations on much data: its copies take a part of the step.
    "copied": (1, 256, 131072),
}
MODES = ("fp32", "tf32", "bf16", "half", "prefetch")
CUDA = torch.device("cuda")


class Block(torch.nn.Module):
    """A feed-forward block of a transformer with its norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the tokens after the block."""
        hidden = torch.nn.functional.gelu(self.up(self.norm(tokens)))
        return tokens + self.down(hidden)


class Training:
    """One configuration: a model, its optimizer, and batches in pinned memory."""

    def __init__(self, size: str, mode: str) -> None:
        torch.manual_seed(0)
        layers, width, tokens = SIZES[size]
        if mode == "half":
            tokens //= 2
        torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
        self.mode = mode
        blocks = (Block(width) for _ in range(layers))
        self.model = torch.nn.Sequential(*blocks).to(CUDA)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), fused=True)
        self.batches = [torch.randn(tokens, width).pin_memory() for _ in range(4)]
        self.side = torch.cuda.Stream()
        self.next: torch.Tensor | None = None
        self.count = 0

    def batch(self) -> torch.Tensor:
        """Return the next batch on the GPU."""
        source = self.batches[self.count % len(self.batches)]
        self.count += 1
        if self.mode != "prefetch":
            return source.to(CUDA, non_blocking=True)
        if self.next is None:
            self.next = source.to(CUDA)
        torch.cuda.current_stream().wait_stream(self.side)
        ready = self.next
        ready.record_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            following = self.batches[self.count % len(self.batches)]
            self.next = following.to(CUDA, non_blocking=True)
        return ready

    def step(self) -> float:
        """Train on a batch, and wait for its loss."""
        tokens = self.batch()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.mode == "bf16"):
            loss = self.model(tokens).float().square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def timed(training: Training, steps: int = 60) -> list[int]:
    """Return the durations of steps in ns; each ends with a synchronization."""
    for _ in range(15):
        training.step()
    durations = []
    for _ in range(steps):
        begin = time.perf_counter_ns()
        training.step()
        durations.append(time.perf_counter_ns() - begin)
    return durations


def record(training: Training, trace: Path) -> None:
    """Record 8 steps."""
    plan = schedule(wait=0, warmup=4, active=8, repeat=1)
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(
        activities=activities,
        schedule=plan,
        on_trace_ready=lambda found: found.export_chrome_trace(str(trace)),
    ) as profiler:
        for _ in range(12):
            training.step()
            profiler.step()


def product_ns(rows: int, inner: int, columns: int, mode: str) -> float:
    """Return the time of a matrix product, the median of 30."""
    kind = torch.bfloat16 if mode == "bf16" else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
    left = torch.randn(rows, inner, device=CUDA, dtype=kind)
    right = torch.randn(inner, columns, device=CUDA, dtype=kind)
    found = []
    for number in range(40):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        # The GPU has work until the product is launched, so no launch is timed.
        torch.cuda._sleep(200_000)
        begin.record()
        left @ right
        end.record()
        torch.cuda.synchronize()
        if number >= 10:
            found.append(begin.elapsed_time(end) * 1e6)
    return statistics.median(found)


def products(size: str, mode: str) -> float:
    """Return the summed time of the products of a block: forward and backward."""
    _, width, tokens = SIZES[size]
    wide = 4 * width
    shapes = (
        (tokens, width, wide),
        (tokens, wide, width),
        (tokens, wide, width),
        (tokens, width, wide),
        (width, tokens, wide),
        (wide, tokens, width),
    )
    return sum(product_ns(*shape, mode) for shape in shapes)


def main() -> None:
    """Run all configurations."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, object] = {
        "torch": torch.__version__,
        "gpu": torch.cuda.get_device_name(),
    }
    for size in sys.argv[2:] or SIZES:
        plain = products(size, "fp32")
        found[f"{size}_products"] = {
            mode: plain / products(size, mode) for mode in ("tf32", "bf16")
        }
        for mode in MODES:
            training = Training(size, mode)
            durations = timed(training)
            record(training, out / f"{size}_{mode}.json.gz")
            middle = statistics.median(durations)
            spread = statistics.median(abs(d - middle) for d in durations)
            found[f"{size}_{mode}"] = {"step_ns": middle, "deviation_ns": spread}
            print(
                size, mode, f"{middle / 1e6:.3f} ms +- {spread / 1e6:.3f}", flush=True
            )
            del training
            torch.cuda.empty_cache()
        (out / "times.json").write_text(json.dumps(found, indent=1))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
