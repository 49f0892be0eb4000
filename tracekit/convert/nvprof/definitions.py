"""Devices, contexts, streams, processes and threads of an nvprof database."""

import struct
from collections.abc import Iterator
from typing import Any

from tracekit.convert.nvprof.database import PROCESS, STREAM, Database
from tracekit.convert.peaks import peak_fp32
from tracekit.convert.row_batches import RowBatches

Row = dict[str, Any]

_STREAM_KINDS = {1: "default", 2: "non_blocking", 3: "null"}


def device_rows(database: Database) -> Iterator[Row]:
    """Yield the devices: those described, and those that only rows refer to."""
    numbers = (
        *("id", "name", "computeCapabilityMajor", "computeCapabilityMinor"),
        *("numMultiprocessors", "coreClockRate", "globalMemorySize"),
        *("globalMemoryBandwidth", "l2CacheSize", "numThreadsPerWarp"),
        *("maxWarpsPerMultiprocessor", "maxBlocksPerMultiprocessor"),
        *("maxThreadsPerBlock", "maxRegistersPerMultiprocessor"),
        "maxSharedMemoryPerMultiprocessor",
    )
    listed: set[int] = set()
    for row in database.rows("DEVICE", numbers, ("uuid",)):
        if row["id"] is None or row["id"] in listed:
            continue
        listed.add(row["id"])
        major, minor = row["computeCapabilityMajor"], row["computeCapabilityMinor"]
        # Clock in kHz, bandwidth in kB/s.
        clock = _thousand(row["coreClockRate"])
        sm_count = row["numMultiprocessors"]
        peak = None
        if None not in (major, minor, sm_count, clock):
            peak = peak_fp32((major, minor), sm_count, clock or 0)
        yield {
            "device_id": database.device(row["id"]),
            "name": database.text(row["name"]),
            "uuid": _uuid(row["uuid"]),
            "compute_capability": None if major is None else f"{major}.{minor}",
            "sm_count": sm_count,
            "max_clock_hz": clock,
            "memory_bytes": row["globalMemorySize"],
            "memory_bandwidth": _thousand(row["globalMemoryBandwidth"]),
            "l2_cache_bytes": row["l2CacheSize"],
            "warp_size": row["numThreadsPerWarp"],
            "max_warps_per_sm": row["maxWarpsPerMultiprocessor"],
            "max_blocks_per_sm": row["maxBlocksPerMultiprocessor"],
            "max_threads_per_block": row["maxThreadsPerBlock"],
            "registers_per_sm": row["maxRegistersPerMultiprocessor"],
            "shared_bytes_per_sm": row["maxSharedMemoryPerMultiprocessor"],
            "peak_fp32_flops": None if peak is None else peak.flops,
            "peak_fp32_derivation": None if peak is None else peak.derivation,
        }
    for ordinal, device_id in database.devices.items():
        if ordinal not in listed:
            yield {"device_id": device_id}


def read_definitions(database: Database, rows: RowBatches) -> None:
    """Read contexts, streams, processes and threads."""
    process = (
        next(iter(database.processes.values()))
        if len(database.processes) == 1
        else None
    )
    for row in database.rows("CONTEXT", ("contextId", "deviceId", "nullStreamId")):
        ordinal = row["deviceId"]
        rows.add(
            "context",
            database.rank,
            {
                "process_id": process,
                "context_id": row["contextId"],
                "device_id": None if ordinal is None else database.device(ordinal),
                "cuda_ordinal": ordinal,
                "null_stream_id": row["nullStreamId"],
            },
        )
    names = dict(_names(database))
    for row in database.rows("STREAM", ("contextId", "streamId", "priority", "flag")):
        rows.add(
            "stream",
            database.rank,
            {
                "process_id": process,
                "context_id": row["contextId"],
                "stream_id": row["streamId"],
                "name": names.get((STREAM, row["contextId"], row["streamId"])),
                "priority": row["priority"],
                "kind": _STREAM_KINDS.get(row["flag"]),
            },
        )
    for os_pid, process_id in database.processes.items():
        command = names.get((PROCESS, os_pid, 0))
        program = command.split(" ")[0] if command else ""
        rows.add(
            "process",
            database.rank,
            {
                "process_id": process_id,
                "os_pid": os_pid,
                "name": program.replace("\\", "/").rsplit("/", 1)[-1] or None,
            },
        )
        if command and database.log.command is None:
            database.log.command = command
    for (os_pid, thread), thread_id in database.threads.items():
        rows.add(
            "thread",
            database.rank,
            {
                "thread_id": thread_id,
                "process_id": database.process(os_pid),
                "name": names.get((2, os_pid, thread)),
            },
        )


def _names(database: Database) -> Iterator[tuple[tuple[int, int, int], str]]:
    """Yield the names that were given to processes, threads and streams."""
    for row in database.rows("NAME", ("objectKind", "name"), ("objectId",)):
        data, kind = row["objectId"] or b"", row["objectKind"]
        name = database.text(row["name"])
        if name is None or len(data) < 8:
            continue
        numbers = struct.unpack_from(f"<{len(data) // 4}I", data)
        if kind == PROCESS:
            yield (PROCESS, numbers[0], 0), name
        elif kind == STREAM and len(numbers) > 2:
            yield (STREAM, numbers[1], numbers[2]), name
        elif kind is not None:
            yield (kind, numbers[0], numbers[1]), name


def _thousand(value: int | None) -> int | None:
    return None if value is None or abs(value) >= 2**53 else value * 1000


def _uuid(data: bytes | None) -> str | None:
    if data is None or len(data) != 16:
        return None
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
