"""The text in which TensorFlow and XLA describe a kernel, a copy, a fill.

`regs:32 static_shared:0 dynamic_shared:16384 grid:8,1,1 block:256,1,1 occ_pct:50` of
CUPTI, `grid:8,1,1 block:256,1,1 private_mem:0 group_mem:8320 occ_pct:0` of ROCm,
`kind_src:pageable kind_dst:device size:4096 dest:0 async:1` of a copy.
"""

import re
from functools import lru_cache
from typing import Any

_PAIR = re.compile(r"(\w+):(\S*)")
_MEMORY_KINDS = frozenset(
    {
        "pageable",
        "pinned",
        "device",
        "array",
        "managed",
        "device_static",
        "managed_static",
    }
)
_DIRECTION = re.compile(r"(?i)(host|device|[hdpa])(?:2|to)(host|device|[hdpa])")
_LETTERS = {"pageable": "H", "pinned": "H", "array": "A", "device": "D"}
_KERNEL = {
    "regs": "registers_per_thread",
    "registers_per_thread": "registers_per_thread",
    "static_shared": "static_shared_bytes",
    "static_shared_memory_usage": "static_shared_bytes",
    "dynamic_shared": "dynamic_shared_bytes",
    "dynamic_shared_memory_usage": "dynamic_shared_bytes",
    "private_mem": "local_bytes_per_thread",
    "group_mem": "shared_bytes",
}
_LONGEST = 4096


def _pairs(text: str) -> dict[str, str]:
    return dict(_PAIR.findall(text[:_LONGEST]))


@lru_cache(maxsize=65_536)
def kernel_details(text: str) -> dict[str, Any]:
    """Return columns of `kernel` from the details of a kernel."""
    pairs = _pairs(text)
    columns: dict[str, Any] = {
        column: int(pairs[key])
        for key, column in _KERNEL.items()
        if pairs.get(key, "").isdecimal()
    }
    for key in ("grid", "block"):
        sizes = pairs.get(key, "").split(",")
        if len(sizes) == 3 and all(size.isdecimal() for size in sizes):
            for axis, size in zip("xyz", sizes, strict=True):
                columns[f"{key}_{axis}"] = int(size)
        for axis in "xyz":
            size = pairs.get(f"{key}_{axis}", "")
            if size.isdecimal():
                columns[f"{key}_{axis}"] = int(size)
    columns["occupancy_ratio"] = occupancy(_real(pairs.get("occ_pct", "")))
    return columns


def occupancy(percent: object) -> float | None:
    """Return an occupancy from 0 to 1; 0 is how the profilers write "unknown"."""
    if isinstance(percent, int | float) and 0 < percent <= 100:
        return percent / 100
    return None


@lru_cache(maxsize=65_536)
def copy_details(name: str, text: str) -> dict[str, Any]:
    """Return columns of `memcpy` from the name and the details of a copy."""
    pairs = _pairs(text)
    source = _memory_kind(pairs.get("kind_src"))
    destination = _memory_kind(pairs.get("kind_dst"))
    return {
        "bytes": _integer(pairs.get("size") or pairs.get("num_bytes")),
        "copy_kind": _copy_kind(name, pairs.get("kind", ""), source, destination),
        "source_memory_kind": source,
        "destination_memory_kind": destination,
    }


def copy_destination(text: str) -> int | None:
    """Return the number of the GPU that a copy between GPUs went to."""
    return _integer(_pairs(text).get("dest"))


def memory_details(text: str) -> dict[str, Any]:
    """Return `bytes` and `memory_kind` from the details of a fill or an allocation."""
    pairs = _pairs(text)
    return {
        "bytes": _integer(pairs.get("num_bytes") or pairs.get("size")),
        "memory_kind": _memory_kind(pairs.get("kind")),
    }


def _copy_kind(
    name: str, kind: str, source: str | None, destination: str | None
) -> str | None:
    """Return the direction as NVIDIA writes it, with A for CUDA arrays."""
    told = _DIRECTION.search(name) or _DIRECTION.search(kind)
    if told is not None:
        first, second = told[1][0].upper(), told[2][0].upper()
    else:
        first = _LETTERS.get(source or "", "")
        second = _LETTERS.get(destination or "", "")
    if not first or not second:
        return None
    if first != "P":
        first = "A" if source == "array" else first
        second = "A" if destination == "array" else second
    return f"{first}to{second}"


def _memory_kind(kind: str | None) -> str | None:
    return kind if kind in _MEMORY_KINDS else None


def _integer(digits: str | None) -> int | None:
    return int(digits) if digits and len(digits) < 20 and digits.isdecimal() else None


def _real(digits: str) -> float | None:
    try:
        return float(digits)
    except ValueError:
        return None
