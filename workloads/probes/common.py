"""What the probes share: a GPU, a timed sleep on it, the answer as JSON."""

import json
import sys

import torch


def gpu() -> torch.device:
    """Return the GPU; without one the probe ends with status 4."""
    if not torch.cuda.is_available():
        print("Error: PyTorch sees no GPU, which a probe is for", file=sys.stderr)
        sys.exit(4)
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch.device("cuda")


def cycles_of(milliseconds: float) -> int:
    """Return the clock cycles that a kernel spins for so long, measured now."""
    guess = 10_000_000
    torch.cuda._sleep(guess)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    torch.cuda._sleep(guess)
    end.record()
    end.synchronize()
    return int(guess * milliseconds / begin.elapsed_time(end))


def answer(**known: object) -> None:
    """Print what a capture must show."""
    torch.cuda.synchronize()
    print(json.dumps(known))
