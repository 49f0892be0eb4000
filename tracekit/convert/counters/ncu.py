"""What Nsight Compute's CSV pages and its reports have in common."""

import re
from collections.abc import Mapping
from typing import Any

from tracekit.convert.counters.metric_rows import Shape, Value
from tracekit.convert.counters.numbers import base_unit, number
from tracekit.convert.nsys.mapping import rows_of
from tracekit.convert.peaks import peak_fp32
from tracekit.convert.readers.base import Batch, CaptureLog
from tracekit.schema import HOST_RANK, TABLES

TOOL = "ncu"
PASSES = "profiler__replayer_passes"
# The same of every kernel of a GPU: the device's, not a kernel's.
_ATTRIBUTE = "device__attribute_"
_INTEGER = re.compile(r"\d+")

NOT_BY_NCU = (
    "kernel",
    "memcpy",
    "memset",
    "api_call",
    "annotation",
)


def is_attribute(metric: str) -> bool:
    """Tell whether a metric describes the GPU and not a kernel."""
    return metric.startswith(_ATTRIBUTE)


def shape(printed: str | None) -> Shape | None:
    """Return `(256, 1, 1)` as three numbers, or None for what is not three."""
    found = [int(digits) for digits in _INTEGER.findall(printed or "")]
    if len(found) != 3 or max(found) >= 2**31:
        return None
    return found[0], found[1], found[2]


def value(metric: str, unit: str, printed: str, mark: str) -> Value | None:
    """Return a printed metric in its base unit, or None if it is no number."""
    parsed = number(printed, mark)
    if parsed is None:
        return None
    base = base_unit(unit)
    return Value(metric, base.name or None, float(parsed.scaleb(base.exponent)))


class Devices:
    """The GPUs that a file's kernels ran on, by their ordinal in the file."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._attributes: dict[int, dict[str, str]] = {}

    def device(self, ordinal: str | None, capability: str | None) -> int | None:
        """Return the dense id of a GPU, numbered as met."""
        if not ordinal:
            return None
        found = self._ids.get(ordinal)
        if found is None:
            found = self._ids[ordinal] = len(self._ids)
            self._attributes[found] = {}
        if capability:
            self._attributes[found].setdefault("cc", capability)
        return found

    def is_known(self, device_id: int | None) -> bool:
        """Tell whether the attributes of a GPU were noted."""
        return device_id is None or len(self._attributes[device_id]) > 1

    def note(self, device_id: int | None, metric: str, printed: str) -> None:
        """Note an attribute of a GPU."""
        if device_id is not None and printed:
            name = metric.removeprefix(_ATTRIBUTE)
            self._attributes[device_id][name] = printed

    def batches(self, mark: str = ".") -> list[Batch]:
        """Return the rows of `device`, and every attribute as a fact of the run."""
        devices = [
            _device(device_id, attributes, mark)
            for device_id, attributes in self._attributes.items()
        ]
        facts = [
            {"key": f"ncu.device.{device_id}.{name}", "value": text, "source": TOOL}
            for device_id, attributes in self._attributes.items()
            for name, text in sorted(attributes.items())
            if name != "cc"
        ]
        return [
            Batch("device", HOST_RANK, rows_of(TABLES["device"], devices)),
            Batch("run_fact", 0, rows_of(TABLES["run_fact"], facts)),
        ]


def explain_absence(tables: frozenset[str], log: CaptureLog) -> None:
    """Say why a counter file has no timeline."""
    for table in NOT_BY_NCU:
        if table in tables:
            log.absent.setdefault(
                table,
                "counters have no timeline: convert them together with a capture of "
                "the same program",
            )


def _device(device_id: int, attributes: Mapping[str, str], mark: str) -> dict[str, Any]:
    def integer(*names: str) -> int | None:
        for name in names:
            parsed = number(attributes.get(name, ""), mark)
            if parsed is not None and 0 <= parsed < 2**63 and parsed == int(parsed):
                return int(parsed)
        return None

    def small(*names: str) -> int | None:
        found = integer(*names)
        return found if found is not None and found < 2**31 else None

    major = small("compute_capability_major")
    minor = small("compute_capability_minor")
    if major is None or minor is None:
        match = re.fullmatch(r"(\d{1,3})[.,](\d{1,3})", attributes.get("cc", ""))
        major, minor = (int(match[1]), int(match[2])) if match else (None, None)
    clock = integer("max_gpu_frequency_khz", "clock_rate")
    sm_count = small("multiprocessor_count")
    memory_clock = integer("max_mem_frequency_khz", "memory_clock_rate")
    width = integer("global_memory_bus_width", "fb_bus_width")
    peak = None
    if None not in (major, minor, sm_count, clock):
        assert major is not None
        assert minor is not None
        assert sm_count is not None
        assert clock is not None
        peak = peak_fp32((major, minor), sm_count, clock * 1000)
    domain, bus, slot = (
        small(f"pci_{part}_id") for part in ("domain", "bus", "device")
    )
    address = None
    if domain is not None and bus is not None and slot is not None:
        address = f"{domain:04x}:{bus:02x}:{slot:02x}.0"
    return {
        "device_id": device_id,
        "name": attributes.get("display_name"),
        "bus": address,
        "compute_capability": None if major is None else f"{major}.{minor}",
        "sm_count": sm_count,
        "max_clock_hz": _times(clock, 1000),
        "memory_bytes": integer("total_memory"),
        # Two transfers a clock, as the driver's own figure has it.
        "memory_bandwidth": None
        if memory_clock is None or width is None
        else _times(memory_clock * 1000 * 2 * width // 8, 1),
        "l2_cache_bytes": integer("l2_cache_size"),
        "warp_size": small("warp_size"),
        "max_warps_per_sm": small("max_warps_per_multiprocessor"),
        "max_blocks_per_sm": small(
            "max_blocks_per_multiprocessor", "limits_max_cta_per_sm"
        ),
        "max_threads_per_block": small("max_threads_per_block"),
        "registers_per_sm": small("max_registers_per_multiprocessor"),
        "shared_bytes_per_sm": integer("max_shared_memory_per_multiprocessor"),
        "peak_fp32_flops": None if peak is None else peak.flops,
        "peak_fp32_derivation": None if peak is None else peak.derivation,
    }


def _times(number: int | None, factor: int) -> int | None:
    if number is None or number * factor >= 2**63:
        return None
    return number * factor
