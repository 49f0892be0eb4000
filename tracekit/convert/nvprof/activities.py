"""GPU work, API calls and synchronizations of an nvprof database."""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.names import base_name, demangle, normal_form
from tracekit.convert.nsys.mapping import table_rows
from tracekit.convert.nvprof.callbacks import callback_name
from tracekit.convert.nvprof.database import PREFIX, Database
from tracekit.convert.readers.base import Batch
from tracekit.schema import TABLES

COPY_KINDS = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
}
MEMORY_KINDS = {
    1: "pageable",
    2: "pinned",
    3: "device",
    4: "array",
    5: "managed",
    6: "device_static",
    7: "managed_static",
}
_LAUNCH_TYPES = {0: "regular", 1: "cooperative", 2: "cooperative_multi_device"}
_SYNC_KINDS = {1: "event", 2: "stream_wait_event", 3: "stream", 4: "context"}
_NO_EVENT = 2**32 - 1
# In KERNEL when launches were serialized, as for counters; in CDP_KERNEL when a kernel
# launched them.
_KERNELS = ("CONCURRENT_KERNEL", "KERNEL", "CDP_KERNEL")
_KERNEL_NUMBERS = {
    "start_ns": "start",
    "end_ns": "end",
    "grid_x": "gridX",
    "grid_y": "gridY",
    "grid_z": "gridZ",
    "block_x": "blockX",
    "block_y": "blockY",
    "block_z": "blockZ",
    "registers_per_thread": "registersPerThread",
    "static_shared_bytes": "staticSharedMemory",
    "dynamic_shared_bytes": "dynamicSharedMemory",
    "executed_shared_bytes": "sharedMemoryExecuted",
    "local_bytes_per_thread": "localMemoryPerThread",
    "local_bytes_total": "localMemoryTotal",
}
_PLACE = ("deviceId", "contextId", "streamId", "correlationId")


def read_kernels(database: Database) -> Iterator[Batch]:
    """Yield executions of kernels."""
    numbers = (*_KERNEL_NUMBERS.values(), *_PLACE, "name", "launchType")
    for table in _KERNELS:
        if not _has(database, table, "kernel", ("start", "end", "name")):
            continue
        for raw in database.batches(table, numbers):
            name = raw.column("name")

            def canonical(string: int) -> str | None:
                recorded = database.text(string)
                if recorded is None or not recorded.startswith("_Z"):
                    return None if recorded is None else normal_form(recorded)
                return demangle(recorded)

            def printed(string: int) -> str | None:
                recorded = database.text(string)
                return None if recorded is None else demangle(recorded)

            def mangled(string: int) -> str | None:
                recorded = database.text(string)
                return recorded if recorded and recorded.startswith("_Z") else None

            def short(string: int) -> str | None:
                recorded = canonical(string)
                return None if recorded is None else base_name(recorded)

            columns = {
                ours: raw.column(theirs) for ours, theirs in _KERNEL_NUMBERS.items()
            }
            columns |= _gpu_work(database, raw)
            columns["launch_type"] = _one_of(raw.column("launchType"), _LAUNCH_TYPES)
            for ours, value_of in (
                # nvprof keeps symbols and prints them demangled.
                ("name", printed),
                ("mangled_name", mangled),
                ("canonical_name", canonical),
                ("short_name", short),
            ):
                columns[ours] = map_distinct(name, value_of, pa.string())
            yield _batch(database, "kernel", raw, columns)


def read_copies(database: Database) -> Iterator[Batch]:
    """Yield copies, between GPUs too."""
    kinds = ("copyKind", "srcKind", "dstKind")
    ends = ("srcDeviceId", "dstDeviceId")
    for table in ("MEMCPY", "MEMCPY2"):
        if not _has(database, table, "memcpy", ("start", "end")):
            continue
        numbers = ("start", "end", "bytes", *_PLACE, *kinds, *ends)
        for raw in database.batches(table, numbers):
            columns = {
                "start_ns": raw.column("start"),
                "end_ns": raw.column("end"),
                "bytes": raw.column("bytes"),
                "copy_kind": _one_of(raw.column("copyKind"), COPY_KINDS),
                "source_memory_kind": _one_of(raw.column("srcKind"), MEMORY_KINDS),
                "destination_memory_kind": _one_of(raw.column("dstKind"), MEMORY_KINDS),
                "source_device_id": _devices(database, raw.column("srcDeviceId")),
                "destination_device_id": _devices(database, raw.column("dstDeviceId")),
                **_gpu_work(database, raw),
            }
            yield _batch(database, "memcpy", raw, columns)


def read_fills(database: Database) -> Iterator[Batch]:
    """Yield fills."""
    if not _has(database, "MEMSET", "memset", ("start", "end")):
        return
    numbers = ("start", "end", "bytes", "value", "memoryKind", *_PLACE)
    for raw in database.batches("MEMSET", numbers):
        columns = {
            "start_ns": raw.column("start"),
            "end_ns": raw.column("end"),
            "bytes": raw.column("bytes"),
            "value": raw.column("value"),
            "memory_kind": _one_of(raw.column("memoryKind"), MEMORY_KINDS),
            **_gpu_work(database, raw),
        }
        yield _batch(database, "memset", raw, columns)


def read_calls(database: Database) -> Iterator[Batch]:
    """Yield calls of the runtime and of the driver, named by their callback id."""
    numbers = (
        *("start", "end", "cbid", "processId", "threadId"),
        *("correlationId", "returnValue"),
    )
    for domain in ("runtime", "driver"):
        table = domain.upper()
        if not _has(database, table, "api_call", ("start", "end", "cbid")):
            continue

        def name_of(number: int, domain: str = domain) -> str:
            # Of a toolkit that is newer than the list: the id is what was recorded.
            return callback_name(domain, number) or f"{domain}_callback_{number}"

        for raw in database.batches(table, numbers):
            pids = raw.column("processId")
            columns = {
                "start_ns": raw.column("start"),
                "end_ns": raw.column("end"),
                "domain": pa.array([domain] * raw.num_rows).dictionary_encode(),
                "name": map_distinct(raw.column("cbid"), name_of, pa.string()),
                "process_id": map_distinct(pids, database.process, pa.int32()),
                "thread_id": database.threads_of(pids, raw.column("threadId")),
                "correlation_id": raw.column("correlationId"),
                "return_value": raw.column("returnValue"),
            }
            yield _batch(database, "api_call", raw, columns)


def read_syncs(database: Database) -> Iterator[Batch]:
    """Yield synchronizations, and records of events, which have no time."""
    if _has(database, "SYNCHRONIZATION", "sync", ("start", "end")):
        numbers = ("start", "end", "type", "correlationId", "contextId", "streamId")
        for raw in database.batches("SYNCHRONIZATION", (*numbers, "cudaEventId")):
            columns = {
                "start_ns": raw.column("start"),
                "end_ns": raw.column("end"),
                "kind": _one_of(raw.column("type"), _SYNC_KINDS),
                "event_id": _unless(raw.column("cudaEventId"), _NO_EVENT),
                **_gpu_work(database, raw),
            }
            columns["stream_id"] = _unless(raw.column("streamId"), _NO_EVENT)
            yield _batch(database, "sync", raw, columns)
    for raw in database.batches(
        "CUDA_EVENT", ("correlationId", "contextId", "streamId", "eventId")
    ):
        columns = {"event_id": raw.column("eventId"), **_gpu_work(database, raw)}
        yield _batch(database, "cuda_event", raw, columns)


def _has(
    database: Database, table: str, target: str, required: tuple[str, ...]
) -> bool:
    """Tell whether a table can be read, and say so if it lacks a column."""
    present = database.columns(table)
    if not present:
        return False
    missing = [name for name in required if name not in present]
    if not missing:
        return True
    rows = database.export.count(PREFIX + table)
    if rows:
        named = ", ".join(f"`{name}`" for name in missing)
        why = f"without the column {named} it cannot be read"
        database.log.skip(PREFIX + table, why, rows)
        database.log.absent[target] = f"{PREFIX}{table} has no column {named}"
    return False


def _gpu_work(database: Database, raw: pa.RecordBatch) -> dict[str, pa.Array]:
    correlation = raw.column("correlationId")
    columns = {
        "process_id": database.process_ids(correlation),
        "context_id": raw.column("contextId"),
        "stream_id": raw.column("streamId"),
        "correlation_id": correlation,
    }
    if "deviceId" in raw.schema.names:
        columns["device_id"] = _devices(database, raw.column("deviceId"))
    else:
        columns["device_id"] = map_distinct(
            raw.column("contextId"), database.device_of_context.get, pa.int32()
        )
    return columns


def _devices(database: Database, ordinals: pa.Array) -> pa.Array:
    return map_distinct(ordinals, database.device, pa.int32())


def _one_of(numbers: pa.Array, names: Mapping[int, str]) -> pa.Array:
    return map_distinct(numbers, names.get, pa.string())


def _unless(numbers: pa.Array, unset: int) -> pa.Array:
    return pc.if_else(pc.equal(numbers, unset), pa.scalar(None, pa.int64()), numbers)


def _batch(
    database: Database, table: str, raw: pa.RecordBatch, columns: Mapping[str, pa.Array]
) -> Batch:
    return Batch(table, database.rank, table_rows(TABLES[table], raw.num_rows, columns))
