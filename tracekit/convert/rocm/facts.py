"""What both formats of rocprofv3 say in the same words."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from tracekit.convert.names import base_name, demangle, normal_form
from tracekit.convert.readers.base import CaptureLog

TOOL = "rocprofv3"
COPY_KINDS = {
    "HOST_TO_HOST": "HtoH",
    "HOST_TO_DEVICE": "HtoD",
    "DEVICE_TO_HOST": "DtoH",
    "DEVICE_TO_DEVICE": "DtoD",
}
# The API that a kind of call is of: in the terms of CUDA's, HIP is the runtime and HSA
# the driver below it.
_DOMAINS = {"HIP": "runtime", "HSA": "driver"}
_LIBRARIES = ("RCCL", "ROCDECODE", "ROCJPEG", "OMPT", "MPI")
_DESCRIPTOR = re.compile(r"(?:\.kd| \[clone \.kd\])$")
_PCI = 0xFFFF

REASONS = {
    "kernel": "recorded with rocprofv3 --kernel-trace",
    "memcpy": "recorded with rocprofv3 --memory-copy-trace",
    "memset": "rocprofv3 records fills as kernels",
    "api_call": "recorded with rocprofv3 --hip-trace or --hsa-trace",
    "annotation": "recorded with rocprofv3 --marker-trace",
    "memory_event": "recorded with rocprofv3 --memory-allocation-trace",
    "kernel_metric": "recorded with rocprofv3 --pmc",
    "library_call": "recorded with rocprofv3 --rccl-trace",
    "sync": "rocprofv3 does not record it",
    "operator": "rocprofv3 does not record it",
    "graph_launch": "rocprofv3 records the kernels of graphs",
}


@lru_cache(maxsize=65_536)
def kernel_names(symbol: str | None, formatted: str | None) -> dict[str, str | None]:
    """Return the four names of a kernel.

    Args:
        symbol: Its linker symbol, which ends in `.kd` for the kernel descriptor.
        formatted: Its name as the tool shows it.
    """
    symbol = _DESCRIPTOR.sub("", symbol) if symbol else None
    formatted = _DESCRIPTOR.sub("", formatted) if formatted else None
    mangled = symbol if symbol and symbol.startswith("_Z") else None
    name = formatted or (demangle(symbol) if symbol else None)
    if mangled is not None:
        canonical: str | None = demangle(mangled)
    else:
        canonical = normal_form(name) if name else None
    return {
        "name": name,
        "mangled_name": mangled,
        "canonical_name": canonical,
        "short_name": base_name(canonical) if canonical else None,
    }


def blocks(grid: int | None, workgroup: int | None) -> int | None:
    """Return the thread blocks of a grid, which AMD counts in threads."""
    if grid is None or not workgroup:
        return None
    return -(-grid // workgroup)


def copy_kind(operation: str | None) -> str | None:
    """Return the kind of a copy that is called `MEMORY_COPY_HOST_TO_DEVICE`."""
    return COPY_KINDS.get((operation or "").removeprefix("MEMORY_COPY_"))


def call_rows(
    category: str, name: str | None, text: str | None, row: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the table and the row of a call of an API.

    Args:
        category: The kind of API, such as `HIP_RUNTIME_API`.
        name: The function.
        text: What a marker says.
        row: Process, thread, times and correlation id.
    """
    family = category.partition("_")[0]
    call = {**row, "name": name}
    if family == "MARKER":
        instant = row["start_ns"] == row["end_ns"]
        if name is None or "Range" in name or "Mark" in name or text is not None:
            yield (
                "annotation",
                {
                    "process_id": row["process_id"],
                    "thread_id": row["thread_id"],
                    "kind": "mark"
                    if instant or (name or "").startswith("roctxMark")
                    else "start_end"
                    if "Process" in (name or "") or "Start" in (name or "")
                    else "push_pop",
                    "text": text if text is not None else name,
                    "start_ns": row["start_ns"],
                    "end_ns": row["end_ns"],
                },
            )
    elif family in _LIBRARIES:
        yield "library_call", {**call, "library": family.lower()}
    else:
        yield "api_call", {**call, "domain": _DOMAINS.get(family, family.lower())}


def device_row(device_id: int, agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a GPU, described as rocprofiler does."""

    def number(name: str) -> int | None:
        value = agent.get(name)
        return value if isinstance(value, int) and 0 < value < 2**31 else None

    def text(*names: str) -> str | None:
        return next((str(agent[name]) for name in names if agent.get(name)), None)

    clock = number("max_engine_clk_fcompute")
    lds = number("lds_size_in_kb")
    banks = agent.get("mem_banks")
    sizes = [
        bank.get("size_in_bytes")
        for bank in (banks if isinstance(banks, list) else [])
        if isinstance(bank, dict)
    ]
    memory = sum(size for size in sizes if isinstance(size, int))
    return {
        "device_id": device_id,
        "name": text("product_name", "model_name", "name"),
        "chip": text("name"),
        "uuid": _uuid(agent.get("uuid")),
        "bus": _bus(agent),
        "sm_count": number("cu_count"),
        "max_clock_hz": None if clock is None else clock * 1_000_000,
        "memory_bytes": memory if 0 < memory < 2**63 else None,
        "warp_size": number("wave_front_size"),
        "max_warps_per_sm": number("max_waves_per_cu"),
        "max_threads_per_block": number("workgroup_max_size"),
        "shared_bytes_per_sm": None if lds is None else lds * 1024,
    }


def explain_absence(
    seen: frozenset[str], tables: frozenset[str], log: CaptureLog
) -> None:
    """Say why tables are empty, and that the reader is new."""
    for table in sorted(tables - seen):
        if table in REASONS:
            log.absent.setdefault(table, REASONS[table])
    if not seen & {"kernel", "memcpy"}:
        log.diagnose("warning", f"no GPU activity: {REASONS['kernel']}")


def _bus(agent: Mapping[str, Any]) -> str | None:
    domain, location = agent.get("domain"), agent.get("location_id")
    if not isinstance(domain, int) or not isinstance(location, int):
        return None
    if not (0 <= domain <= _PCI and 0 < location <= _PCI):
        return None
    return f"{domain:04x}:{location >> 8:02x}:{location >> 3 & 31:02x}.{location & 7}"


def _uuid(value: object) -> str | None:
    """Return a UUID as text; it comes as bytes by name, or as a number."""
    if isinstance(value, dict) and isinstance(value.get("bytes"), dict):
        found = [value["bytes"].get(f"value{place}") for place in range(16)]
        if not all(isinstance(byte, int) and 0 <= byte < 256 for byte in found):
            return None
        text = bytes(found).hex()
        if not any(found):
            return None
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if isinstance(value, int) and not isinstance(value, bool) and value:
        return f"{value & (2**64 - 1):016x}"
    return None
