"""The GPUs of an export, and which of them a process means by its ordinal."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.nsys.definitions import definitions
from tracekit.convert.nsys.export import Export, resolve
from tracekit.convert.nsys.identity import Identity
from tracekit.convert.peaks import peak_fp32
from tracekit.convert.readers.base import CaptureLog

_PID_SHIFT = 24
_ORDINAL_BITS = 16
_GPU_WORK = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
)
_NO_UUID = "00000000-0000-0000-0000-000000000000"

_INTEGERS = {
    "sm_count": "smCount",
    "max_clock_hz": "clockRate",
    "memory_bytes": "totalMemory",
    "memory_bandwidth": "memoryBandwidth",
    "l2_cache_bytes": "l2CacheSize",
    "warp_size": "threadsPerWarp",
    "max_warps_per_sm": "maxWarpsPerSm",
    "max_blocks_per_sm": "maxBlocksPerSm",
    "max_threads_per_block": "maxThreadsPerBlock",
    "registers_per_sm": "maxRegistersPerSm",
    "shared_bytes_per_sm": "maxShmemPerSm",
}
_TEXTS = {"name": "name", "uuid": "uuid", "bus": "busLocation", "chip": "chipName"}


class Devices:
    """Gives each GPU its device_id.

    `TARGET_INFO_CUDA_DEVICE` maps a process's ordinal to a GPU. Where it is missing
    an ordinal is mapped only if the machine has one GPU; else each pair of process
    and ordinal keeps a device of its own, described by what its candidates share.

    Args:
        export: The export.
        identity: Its processes.
        log: Takes a message where a device could not be told.
    """

    def __init__(self, export: Export, identity: Identity, log: CaptureLog) -> None:
        self._identity = identity
        self._log = log
        self._gpus = _gpus(export, log)
        self._rows: dict[int, dict[str, Any]] = {}
        self._ids: dict[tuple[str, int, int], int] = {}
        self._by_context: dict[tuple[int, int], int] = {}
        self._gpu_of = {
            (row["pid"], row["cudaId"]): row["gpuId"]
            for row in definitions(
                export, "TARGET_INFO_CUDA_DEVICE", log, integers="pid cudaId gpuId"
            )
            if None not in row.values()
        }
        for gpu in self._gpus:
            self._id(("gpu", gpu, 0), self._gpus[gpu])
        if not self._gpu_of and len(self._gpus) != 1:
            # Numbered by ordinal, not by which device happened to work first.
            for ordinal, process in sorted(_pairs(export)):
                self.device(process, ordinal)

    def column(self, processes: pa.Array, ordinals: pa.Array) -> pa.Array:
        """Map columns of globalPid or globalTid and of ordinals to device_id."""
        # Both in one number, so that each pair is looked up once: 40 bits of process
        # and 16 of ordinal.
        keys = pc.bit_wise_or(
            pc.shift_left(pc.shift_right(processes, _PID_SHIFT), _ORDINAL_BITS),
            ordinals,
        )
        return map_distinct(
            keys,
            lambda key: self.device(key >> _ORDINAL_BITS, key & 0xFFFF),
            pa.int32(),
        )

    def learn_contexts(self, rows: pa.RecordBatch) -> None:
        """Note on which device each context of GPU work is."""
        names = ["process_id", "context_id", "device_id"]
        known = pa.Table.from_batches([rows.select(names)]).group_by(names)
        for row in known.aggregate([]).to_pylist():
            self._by_context[row["process_id"], row["context_id"]] = row["device_id"]

    def of_context(self, processes: pa.Array, contexts: pa.Array) -> pa.Array:
        """Map columns of globalPid and of contexts to device_id."""
        keys = pc.bit_wise_or(
            pc.shift_left(self._identity.processes(processes).cast(pa.int64()), 32),
            pc.bit_wise_and(contexts, 0xFFFFFFFF),
        )
        return map_distinct(
            keys,
            lambda key: self._by_context.get((key >> 32, key & 0xFFFFFFFF)),
            pa.int32(),
        )

    def device(self, process: int, ordinal: int) -> int:
        """Return the device_id of a process's CUDA ordinal."""
        gpu = self._gpu_of.get((process & 0xFFFFFF, ordinal))
        if gpu is None and len(self._gpus) == 1 and not self._gpu_of and ordinal == 0:
            gpu = next(iter(self._gpus))
        if gpu is not None:
            return self.gpu(gpu)
        found = self._ids.get(("ordinal", process, ordinal))
        if found is not None:
            return found
        if self._gpus:
            self._log.diagnose(
                "warning",
                f"the capture does not say which of its {len(self._gpus)} GPUs a "
                "process's CUDA device is; each process's device is listed as its own",
            )
        row = _shared(list(self._gpus.values()))
        row["host"] = self._identity.host(process)
        return self._id(("ordinal", process, ordinal), row)

    def gpu(self, gpu: int) -> int:
        """Return the device_id of a GPU by its number in the export."""
        return self._id(("gpu", gpu, 0), self._gpus.get(gpu, {}))

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `device`."""
        return [self._rows[device_id] for device_id in sorted(self._rows)]

    def _id(self, key: tuple[str, int, int], row: dict[str, Any]) -> int:
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self._ids)
            host = row.get("host") or self._identity.only_host()
            self._rows[found] = {**row, "device_id": found, "host": host}
        return found


def _gpus(export: Export, log: CaptureLog) -> dict[int, dict[str, Any]]:
    """Read the GPUs of the machine, by their number in the export."""
    found: dict[int, dict[str, Any]] = {}
    texts = " ".join(_TEXTS.values())
    integers = " ".join([*_INTEGERS.values(), "computeMajor", "computeMinor"])
    for row in definitions(
        export, "TARGET_INFO_GPU", log, integers=f"id {integers}", texts=texts
    ):
        if row["id"] is not None:
            found[row["id"]] = _device(row)
    if not found:
        # 2020: the clock is in kHz, and the number is that of CUDA.
        for row in definitions(
            export,
            "TARGET_INFO_CUDA_GPU",
            log,
            integers=f"deviceId {integers}",
            texts=texts,
        ):
            if row["deviceId"] is not None:
                clock = row["clockRate"]
                hertz = None if clock is None else clock * 1000
                found[row["deviceId"]] = _device({**row, "clockRate": hertz})
    return dict(sorted(found.items()))


def _pairs(export: Export) -> set[tuple[int, int]]:
    """Return the pairs of ordinal and process that GPU work names."""
    wanted = pa.schema([("deviceId", pa.int64()), ("globalPid", pa.int64())])
    found: set[tuple[int, int]] = set()
    for table in _GPU_WORK:
        source = resolve(export, table)
        if set(wanted.names) <= export.columns(source):
            for batch in export.batches(source, wanted):
                pairs = pa.Table.from_batches([batch]).group_by(wanted.names)
                for row in pairs.aggregate([]).drop_null().to_pylist():
                    found.add((row["deviceId"], row["globalPid"] >> _PID_SHIFT))
    return found


def _device(row: dict[str, Any]) -> dict[str, Any]:
    device: dict[str, Any] = {
        name: row[source]
        for name, source in _INTEGERS.items()
        # A size of 0 is how an export writes "unknown".
        if row[source] is not None and row[source] > 0
    }
    for name, source in _TEXTS.items():
        value = row[source]
        if value and value != _NO_UUID:
            device[name] = value
    major, minor = row["computeMajor"], row["computeMinor"]
    if major is not None and minor is not None and major > 0:
        device["compute_capability"] = f"{major}.{minor}"
        if "sm_count" in device and "max_clock_hz" in device:
            peak = peak_fp32((major, minor), device["sm_count"], device["max_clock_hz"])
            if peak is not None:
                device["peak_fp32_flops"], device["peak_fp32_derivation"] = peak
    return device


def _shared(candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what all candidates for a device have in common."""
    if not candidates:
        return {}
    first, *others = candidates
    return {
        name: value
        for name, value in first.items()
        if all(other.get(name) == value for other in others)
    }
