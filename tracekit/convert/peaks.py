"""Peak FP32 rate of an NVIDIA GPU from its compute capability.

FP32 lanes per SM are "number of results per clock cycle per multiprocessor" for
32-bit floating-point add, multiply, multiply-add in the table "Throughput of Native
Arithmetic Instructions" of NVIDIA's CUDA C++ Programming Guide, whose editions cover
all of these capabilities.
"""

from typing import NamedTuple

_FP32_LANES = {
    (3, 0): 192,
    (3, 2): 192,
    (3, 5): 192,
    (3, 7): 192,
    (5, 0): 128,
    (5, 2): 128,
    (5, 3): 128,
    (6, 0): 64,
    (6, 1): 128,
    (6, 2): 128,
    (7, 0): 64,
    (7, 2): 64,
    (7, 5): 64,
    (8, 0): 64,
    (8, 6): 128,
    (8, 7): 128,
    (8, 9): 128,
    (9, 0): 128,
    (10, 0): 128,
    (10, 1): 128,
    (10, 3): 128,
    (11, 0): 128,
    (12, 0): 128,
    (12, 1): 128,
}


class Peak(NamedTuple):
    """A peak rate in FLOP/s and how it was computed."""

    flops: float
    derivation: str


def peak_fp32(
    capability: tuple[int, int], sm_count: int, max_clock_hz: int
) -> Peak | None:
    """Return 2 x FP32 lanes per SM x SMs x clock, or None for an unknown GPU."""
    lanes = _FP32_LANES.get(capability)
    if lanes is None:
        return None
    major, minor = capability
    return Peak(
        float(2 * lanes * sm_count * max_clock_hz),
        f"2 x {lanes} FP32 lanes per SM (compute capability {major}.{minor})"
        f" x {sm_count} SMs x {max_clock_hz} Hz",
    )
