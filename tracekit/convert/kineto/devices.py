"""The GPUs of a trace."""

from collections.abc import Mapping, Sequence
from typing import Any

# AMD's wavefronts have 64 lanes, and its devices no CUDA compute capability.
_WAVEFRONT = 64


def device_rows(
    properties: Sequence[Mapping[str, Any]],
    ordinals: Mapping[int, int],
    host: str | None,
) -> list[dict[str, Any]]:
    """Return the rows of `device` for the ordinals that did something.

    Args:
        properties: `deviceProperties` of the trace.
        ordinals: The device_id of each ordinal.
        host: Name of the machine, where the trace says it.
    """
    by_ordinal = {found.get("id"): found for found in properties}
    return [
        {"device_id": number, "host": host, **_described(by_ordinal.get(ordinal, {}))}
        for ordinal, number in ordinals.items()
    ]


def _described(found: Mapping[str, Any]) -> dict[str, Any]:
    warp = _count(found, "warpSize")
    threads = _count(found, "maxThreadsPerMultiprocessor")
    major, minor = found.get("computeMajor"), found.get("computeMinor")
    is_cuda = warp is not None and warp != _WAVEFRONT
    return {
        "name": found.get("name") or None,
        "compute_capability": (
            f"{major}.{minor}"
            if is_cuda and isinstance(major, int) and isinstance(minor, int)
            else None
        ),
        "sm_count": _count(found, "numSms"),
        "memory_bytes": _count(found, "totalGlobalMem"),
        "warp_size": warp,
        "max_warps_per_sm": threads // warp if threads and warp else None,
        "max_threads_per_block": _count(found, "maxThreadsPerBlock"),
        "registers_per_sm": _count(found, "regsPerMultiprocessor"),
        "shared_bytes_per_sm": _count(found, "sharedMemPerMultiprocessor")
        or _count(found, "maxSharedMemoryPerMultiProcessor"),
    }


def _count(found: Mapping[str, Any], key: str) -> int | None:
    value = found.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < 2**63 else None
