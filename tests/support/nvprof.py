"""nvprof databases, made from the schema that nvprof writes."""

import sqlite3
import struct
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

PREFIX = "CUPTI_ACTIVITY_KIND_"
START = 1_543_505_605_000_000_000
"""When the captures begin, in ns since the Unix epoch."""

# Columns of each table as nvprof of CUDA 10 writes them, without the row id; `blob:`
# before those that hold bytes.
TABLES: Mapping[str, str] = {
    "MEMCPY": "copyKind srcKind dstKind flags bytes start end deviceId contextId"
    " streamId correlationId runtimeCorrelationId",
    "MEMCPY2": "copyKind srcKind dstKind flags bytes start end deviceId contextId"
    " streamId srcDeviceId srcContextId dstDeviceId dstContextId correlationId",
    "MEMSET": "value bytes start end deviceId contextId streamId correlationId flags"
    " memoryKind",
    "KERNEL": "blob:cacheConfig registersPerThread start end completed deviceId"
    " contextId streamId gridX gridY gridZ blockX blockY blockZ staticSharedMemory"
    " dynamicSharedMemory localMemoryPerThread localMemoryTotal correlationId gridId"
    " name queued submitted launchType sharedMemoryExecuted",
    "DRIVER": "cbid start end processId threadId correlationId returnValue",
    "EVENT": "id value domain correlationId",
    "METRIC": "id blob:value correlationId flags",
    "DEVICE": "flags globalMemoryBandwidth globalMemorySize constantMemorySize"
    " l2CacheSize numThreadsPerWarp coreClockRate numMultiprocessors"
    " maxWarpsPerMultiprocessor maxBlocksPerMultiprocessor"
    " maxSharedMemoryPerMultiprocessor maxRegistersPerMultiprocessor"
    " maxThreadsPerBlock computeCapabilityMajor computeCapabilityMinor id eccEnabled"
    " blob:uuid name",
    "CONTEXT": "contextId deviceId computeApiKind nullStreamId",
    "STREAM": "contextId streamId priority flag correlationId",
    "NAME": "objectKind blob:objectId name",
    "MARKER": "flags timestamp id objectKind blob:objectId name domain",
    "MARKER_DATA": "flags id payloadKind blob:payload color category",
    "OVERHEAD": "overheadKind objectKind blob:objectId start end",
    "SYNCHRONIZATION": "type start end correlationId contextId streamId cudaEventId",
    "CUDA_EVENT": "correlationId contextId streamId eventId",
    "UNIFIED_MEMORY_COUNTER": "counterKind value start end address srcId dstId streamId"
    " processId flags",
    "ENVIRONMENT": "deviceId timestamp environmentKind blob:data",
    "MEMORY": "memoryKind address bytes start end allocPC freePC processId deviceId"
    " contextId name",
    "PC_SAMPLING": "flags sourceLocatorId samples",
}
SAME = {"CONCURRENT_KERNEL": "KERNEL", "RUNTIME": "DRIVER", "CDP_KERNEL": "KERNEL"}


def owner(process: int, thread: int = 0) -> bytes:
    """Return the object that a record is of, as CUPTI stores it."""
    return struct.pack("<III", process, thread & 0xFFFFFFFF, 0)


def place(device: int, context: int, stream: int) -> bytes:
    """Return the object that names a device, context and stream."""
    return struct.pack("<III", device, context, stream)


def database(
    path: Path,
    strings: Sequence[str] = (),
    rows: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
    *,
    without: Sequence[str] = (),
) -> Path:
    """Write a database with all tables, most of them empty.

    Args:
        path: The file.
        strings: The string table; the first has id 1.
        rows: Cells by table; those that are not given are 0 or empty.
        without: Tables and `TABLE.column`s that it lacks.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE Version (version INTEGER)")
        connection.execute("INSERT INTO Version VALUES (12)")
        connection.execute(
            "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT)"
        )
        named = [(0, "-- null --"), *enumerate(strings, start=1)]
        connection.executemany("INSERT INTO StringTable VALUES (?, ?)", named)
        for table in (*TABLES, *SAME):
            if table in without:
                continue
            columns = TABLES[SAME.get(table, table)].split()
            columns = [c for c in columns if f"{table}.{c}" not in without]
            kinds = [
                f'"{column.removeprefix("blob:")}" '
                + ("BLOB" if column.startswith("blob:") else "INT")
                for column in columns
            ]
            connection.execute(
                f"CREATE TABLE {PREFIX}{table} (_id_ INTEGER PRIMARY KEY, "
                f"{', '.join(kinds)})"
            )
            for row in (rows or {}).get(table, ()):
                cells = [
                    row.get(column.removeprefix("blob:"), b"" if ":" in column else 0)
                    for column in columns
                ]
                marks = ", ".join("?" * len(cells))
                connection.execute(
                    f"INSERT INTO {PREFIX}{table} VALUES (NULL, {marks})", cells
                )
    return path
