"""Ranges, counters and memory of an nvprof database, row by row."""

import math
import struct
from typing import Any

from tracekit.convert.nvprof.activities import MEMORY_KINDS
from tracekit.convert.nvprof.database import PROCESS, Database, owner_of
from tracekit.convert.row_batches import RowBatches
from tracekit.schema import HOST_RANK

Row = dict[str, Any]

_MARK, _BEGIN, _END = 1, 2, 4
_OVERHEADS = {
    0: "unknown",
    1: "JIT compilation by the driver",
    1 << 16: "CUPTI buffer flush",
    2 << 16: "CUPTI instrumentation",
    3 << 16: "CUPTI resource creation",
}
_MIGRATIONS = {1: "unified_HtoD", 2: "unified_DtoH", 8: "unified_DtoD"}
_CAUSES = {
    1: "user_prefetch",
    2: "page_fault",
    3: "speculative_prefetch",
    4: "eviction",
    5: "access_counters",
}
_FAULTS = {
    3: "unified memory CPU page faults",
    4: "unified memory GPU page faults",
    5: "unified memory thrashing",
    6: "unified memory throttling",
    7: "unified memory remote maps",
}
# Kind of an environment record: what its 32-bit numbers are.
_ENVIRONMENT = {
    1: (("SM clock", "MHz"), ("memory clock", "MHz")),
    2: (("temperature", "C"),),
    3: (("power", "mW"), ("power limit", "mW")),
    4: (("fan speed", "%"),),
}
# Bits of a flag of a metric: the value overflowed, or is invalid.
_BAD_METRIC = 3
_SMALLEST_NORMAL = 2.2250738585072014e-308


def read_markers(database: Database, rows: RowBatches) -> None:
    """Pair the starts and ends of NVTX ranges."""
    payloads = {
        row["id"]: row
        for row in database.rows("MARKER_DATA", ("id", "payloadKind", "category"))
    }
    open_: dict[int, Row] = {}
    numbers = ("flags", "timestamp", "id", "objectKind", "name", "domain")
    for row in database.rows("MARKER", numbers, ("objectId",)):
        flags, thread = row["flags"] or 0, None
        owner = owner_of(row["objectId"])
        if owner is not None:
            thread = database.thread(*owner)
        if flags & _END:
            begun = open_.pop(row["id"], None)
            if begun is None:
                database.log.skip("MARKER", "the end of a range that has no start")
                continue
            begun["end_ns"] = row["timestamp"]
            if begun["kind"] == "start_end":
                begun["end_thread_id"] = thread
            rows.add("annotation", database.rank, begun)
            continue
        is_mark = not flags & _BEGIN
        data = payloads.get(row["id"], {})
        begun = {
            "process_id": None if owner is None else database.process(owner[0]),
            "thread_id": thread,
            # A range of a process may end in another thread than it began in.
            "kind": "mark"
            if is_mark
            else "start_end"
            if row["objectKind"] == PROCESS
            else "push_pop",
            "domain": database.text(row["domain"]),
            "category": str(data["category"]) if data.get("category") else None,
            "text": database.text(row["name"]),
            "start_ns": row["timestamp"],
            "end_ns": row["timestamp"] if is_mark else None,
        }
        if is_mark:
            rows.add("annotation", database.rank, begun)
        elif row["id"] in open_:
            database.log.skip("MARKER", "a second start of a range")
        else:
            open_[row["id"]] = begun
    for begun in open_.values():
        rows.add("annotation", database.rank, begun)


def read_overhead(database: Database, rows: RowBatches) -> None:
    """Read what the profiler cost."""
    numbers = ("overheadKind", "objectKind", "start", "end")
    for row in database.rows("OVERHEAD", numbers, ("objectId",)):
        owner = owner_of(row["objectId"])
        kind = row["overheadKind"]
        of_thread = owner is not None and row["objectKind"] != PROCESS
        rows.add(
            "overhead",
            database.rank,
            {
                "process_id": None if owner is None else database.process(owner[0]),
                "thread_id": database.thread(*owner) if owner and of_thread else None,
                "kind": _OVERHEADS.get(kind, f"overhead {kind}"),
                "start_ns": row["start"],
                "end_ns": row["end"],
            },
        )


def read_unified_memory(database: Database, rows: RowBatches) -> None:
    """Read migrations as copies, and faults as samples of a counter."""
    numbers = (
        *("counterKind", "value", "start", "end", "timestamp", "srcId", "dstId"),
        *("streamId", "processId", "flags", "deviceId"),
    )
    for row in database.rows("UNIFIED_MEMORY_COUNTER", numbers):
        kind = row["counterKind"]
        start = row["timestamp"] if row["start"] is None else row["start"]
        to_device, to_host = kind in (1, 8), kind == 2
        source = row["srcId"] if row["srcId"] is not None else row["deviceId"]
        ordinal = row["dstId"] if to_device and row["dstId"] is not None else source
        device = None if ordinal is None else database.device(ordinal)
        if kind in _MIGRATIONS:
            pid = row["processId"]
            rows.add(
                "memcpy",
                database.rank,
                {
                    "process_id": None if pid is None else database.process(pid),
                    "device_id": device,
                    "start_ns": start,
                    "end_ns": start if row["end"] is None else row["end"],
                    "bytes": row["value"],
                    "copy_kind": _MIGRATIONS[kind],
                    "source_device_id": device if to_host else None,
                    "destination_device_id": device if to_device else None,
                    "migration_cause": _CAUSES.get(row["flags"]),
                },
            )
        elif kind in _FAULTS:
            rows.add(
                "counter_sample",
                HOST_RANK,
                {
                    "source": "gpu",
                    # A fault of the CPU is of no GPU.
                    "device_id": None if kind == 3 else device,
                    "time_ns": start,
                    "metric": _FAULTS[kind],
                    "unit": "events",
                    "value": 1.0 if kind == 3 else _number(row["value"]),
                },
            )
        else:
            database.log.skip("UNIFIED_MEMORY_COUNTER", f"kind {kind} is not known")


def read_counters(database: Database, rows: RowBatches) -> None:
    """Read events and metrics of kernels; the database has their ids, no names."""
    process = next(iter(database.processes.values()), None)
    if len(database.processes) > 1:
        process = None
    order: dict[int, int] = {}
    for table, blobs in (
        ("METRIC", ("value",)),
        ("METRIC_INSTANCE", ("value",)),
        ("EVENT", ()),
        ("EVENT_INSTANCE", ()),
    ):
        value_column = () if blobs else ("value",)
        numbers = ("id", "correlationId", "flags", "instance", *value_column)
        kind = table.partition("_")[0].lower()
        for row in database.rows(table, numbers, blobs):
            if kind == "metric":
                value = _metric_value(row["value"], row["flags"] or 0)
            else:
                value = _number(row["value"])
            if value is None:
                database.log.skip(table, "the value is invalid or overflowed")
                continue
            name = f"{kind}_{row['id']}"
            if row["instance"] is not None:
                name += f".instance_{row['instance']}"
            correlation = row["correlationId"]
            rows.add(
                "kernel_metric",
                database.rank,
                {
                    "launch_index": order.setdefault(correlation, len(order)),
                    "process_id": process,
                    "correlation_id": correlation,
                    "metric": name,
                    "value": value,
                    "tool": "nvprof",
                },
            )


def read_environment(database: Database, rows: RowBatches) -> None:
    """Read clocks, temperature, power and fans as samples."""
    numbers = ("deviceId", "timestamp", "environmentKind")
    for row in database.rows("ENVIRONMENT", numbers, ("data",)):
        known = _ENVIRONMENT.get(row["environmentKind"])
        data = row["data"] or b""
        if known is None or len(data) < 4 * len(known) or row["deviceId"] is None:
            database.log.skip("ENVIRONMENT", "a kind or a length that is not known")
            continue
        values = struct.unpack_from(f"<{len(known)}I", data)
        for (metric, unit), value in zip(known, values, strict=True):
            rows.add(
                "counter_sample",
                HOST_RANK,
                {
                    "source": "gpu",
                    "device_id": database.device(row["deviceId"]),
                    "time_ns": row["timestamp"],
                    "metric": metric,
                    "unit": unit,
                    "value": float(value),
                },
            )


def read_memory(database: Database, rows: RowBatches) -> None:
    """Read allocations and their releases."""
    numbers = (
        *("memoryKind", "address", "bytes", "start", "end", "processId"),
        *("deviceId", "contextId", "name"),
    )
    for row in database.rows("MEMORY", numbers):
        pid, ordinal = row["processId"], row["deviceId"]
        event = {
            "process_id": None if pid is None else database.process(pid),
            "device_id": None if ordinal is None else database.device(ordinal),
            "context_id": row["contextId"],
            "address": row["address"],
            "bytes": row["bytes"],
            "allocator": "cuda",
            "memory_kind": MEMORY_KINDS.get(row["memoryKind"]),
            "tag": database.text(row["name"]),
        }
        rows.add(
            "memory_event",
            database.rank,
            {**event, "kind": "allocate", "time_ns": row["start"]},
        )
        if row["end"]:
            rows.add(
                "memory_event",
                database.rank,
                {**event, "kind": "free", "time_ns": row["end"]},
            )


def _metric_value(data: bytes | None, flags: int) -> float | None:
    """Return the value of CUPTI's union of a real number and integers.

    The database does not say which it is. A count read as a real number is smaller
    than any normal one, so that tells them apart up to 4.5e15.
    """
    if data is None or len(data) != 8 or flags & _BAD_METRIC:
        return None
    real, count = struct.unpack("<d", data)[0], struct.unpack("<q", data)[0]
    if abs(real) < _SMALLEST_NORMAL:
        return float(count)
    return real if math.isfinite(real) else None


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)
