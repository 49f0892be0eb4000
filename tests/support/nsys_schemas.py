"""Synthetic Nsight Systems exports of every schema version.

The tables and columns are those that NVIDIA's documentation and real exports have for
a version; the rows are made up. A column is written as `name`, `name:text` or
`name:real`, followed by `@since` and `<until` where not every version has it. No export
of a version is claimed to have all of these tables at once: they are what it would
write if it had traced everything.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

RELEASES = (
    "2019",
    "2020",
    "2021",
    "2.9.1",
    "3.0.0",
    "3.1.7",
    "3.4.0",
    "3.13.2",
    "3.16.1",
    "3.20.3",
    "3.24.0",
    "3.24.14",
    "3.25.0",
    "3.30.1",
)
"""The schema versions; those without a number are by the year of the release."""

UNVERSIONED = ("2019", "2020", "2021")

_GPU = (
    "start end deviceId contextId greenContextId@3.13.2 streamId correlationId"
    " globalPid"
)
_CALL = "start end eventClass@2020 globalTid"
_SQL = {"": "INTEGER", "text": "TEXT", "real": "REAL"}
_COLUMN = re.compile(
    r"(?P<name>\w+)(:(?P<kind>text|real))?(@(?P<since>[\d.]+))?(<(?P<until>[\d.]+))?"
)

# Table, the versions that have it, its columns.
_TABLES: Sequence[tuple[str, str, str]] = (
    ("StringIds", "", "id value:text"),
    ("PROCESSES", "@2.9.1", "globalPid pid name:text"),
    ("ThreadNames", "", "nameId priority globalTid"),
    ("ProcessStreams", "", "globalPid filenameId contentId"),
    (
        "TARGET_INFO_SYSTEM_ENV",
        "",
        "globalVid devStateName:text name:text nameEnum value:text",
    ),
    (
        "TARGET_INFO_SESSION_START_TIME",
        "@2021",
        "utcEpochNs utcTime:text localTime:text systemClockNs@3.24.14"
        " sessionStartCntVctNs@3.30.1",
    ),
    (
        "TARGET_INFO_CUDA_GPU",
        "<2021",
        "deviceId name:text busLocation:text clockRate smCount totalMemory"
        " memoryBandwidth l2CacheSize computeMajor computeMinor",
    ),
    (
        "TARGET_INFO_GPU",
        "@2021",
        "vmId id name:text busLocation:text isDiscrete l2CacheSize totalMemory"
        " memoryBandwidth clockRate smCount uuid:text chipName:text@2.9.1 cuDevice"
        " computeMajor computeMinor numaNodeId@3.30.1",
    ),
    (
        "TARGET_INFO_CUDA_DEVICE",
        "@3.20.3",
        "gpuId cudaId pid uuid:text@3.24.14 numMultiprocessors@3.24.14",
    ),
    (
        "TARGET_INFO_CUDA_NULL_STREAM",
        "@2020<3.13.2",
        "streamId hwId vmId processId deviceId contextId",
    ),
    (
        "TARGET_INFO_CUDA_CONTEXT_INFO",
        "@3.13.2",
        "nullStreamId hwId vmId processId deviceId contextId parentContextId"
        " isGreenContext numMultiprocessors@3.30.1",
    ),
    (
        "TARGET_INFO_CUDA_STREAM",
        "@2020",
        "streamId hwId vmId processId contextId priority flag",
    ),
    (
        "TARGET_INFO_NVTX_CUDA_STREAM",
        "@3.0.0",
        "name:text hwId vmId processId deviceId contextId streamId",
    ),
    (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "",
        f"{_GPU} demangledName shortName mangledName@2.9.1 launchType@2020 cacheConfig"
        " registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory"
        " dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId"
        " sharedMemoryExecuted@2020 graphNodeId@2020 sharedMemoryLimitConfig@2021"
        " qmdBulkReleaseDone@3.24.0 qmdPreexitDone@3.24.0 qmdLastCtaDone@3.24.0"
        " graphId@3.24.0 clusterX@3.24.0 clusterY@3.24.0 clusterZ@3.24.0"
        " clusterSchedulingPolicy@3.24.0 maxPotentialClusterSize@3.24.0"
        " maxActiveClusters@3.24.0 sharedMemoryRequestedPercentage@3.24.14"
        " tensorSizeMinusOneElements:text@3.25.0",
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "",
        f"{_GPU} bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId@2020"
        " srcContextId@2020 dstDeviceId@2020 dstContextId@2020 migrationCause@2021"
        " graphNodeId@2020 virtualAddress@2.9.1 copyCount@3.24.0",
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMSET",
        "",
        "start end deviceId contextId greenContextId@3.25.0 streamId correlationId"
        " globalPid value bytes graphNodeId@2020 memKind@2020",
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS",
        "@3.30.1",
        "start end eventClass deviceId contextId streamId correlationId globalPid"
        " ChannelID sourceBytes NumberOfOperations",
    ),
    ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "@2.9.1", f"{_GPU} graphId graphExecId"),
    (
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        "@2020",
        f"{_GPU} deprecatedSyncType@3.24.0 syncType eventId eventSyncId@3.24.0",
    ),
    (
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
        "@2020",
        "timestamp@3.24.0 deviceId contextId greenContextId@3.16.1 streamId"
        " correlationId globalPid eventId eventSyncId@3.24.0",
    ),
    (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "",
        f"{_CALL} correlationId nameId returnValue callchainId@2021",
    ),
    ("CUDA_CALLCHAINS", "@2021", "id symbol module unresolved originalIP stackDepth"),
    (
        "CUPTI_ACTIVITY_KIND_OVERHEAD",
        "@3.24.0",
        f"{_CALL} correlationId nameId overheadType",
    ),
    (
        "CUPTI_ACTIVITY_KIND_JIT",
        "@3.30.1",
        f"{_CALL} correlationId nameId overheadType jitEntryType jitOperationType",
    ),
    (
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        "@2.9.1",
        "start globalPid deviceId contextId address pc bytes memKind"
        " memoryOperationType name:text correlationId streamId@3.4.0",
    ),
    (
        "NVTX_EVENTS",
        "",
        "start end eventType rangeId category color text:text globalTid endGlobalTid"
        " textId domainId uint64Value int64Value doubleValue:real uint32Value"
        " int32Value floatValue:real jsonTextId@2.9.1 jsonText:text@2.9.1"
        " binaryData:text@3.25.0 eventId@3.30.1",
    ),
    ("SCHED_EVENTS", "", "start cpu isSchedIn globalTid threadState@3.13.2"),
    ("COMPOSITE_EVENTS", "", "id start cpu threadState globalTid cpuCycles"),
    ("SAMPLING_CALLCHAINS", "", "id symbol module kernelMode stackDepth"),
    (
        "OSRT_API",
        "",
        f"{_CALL} correlationId<3.1.7 nameId returnValue nestingLevel@2020 callchainId"
        " argumentsId@3.24.0",
    ),
    ("CUDNN_EVENTS", "@2020", f"{_CALL} nameId"),
    ("CUBLAS_EVENTS", "@2020", f"{_CALL} nameId"),
    ("MPI_RANKS", "@3.0.0", "globalTid rank"),
    ("MPI_P2P_EVENTS", "@3.0.0", f"{_CALL} textId commHandle tag remoteRank size"),
    (
        "MPI_COLLECTIVES_EVENTS",
        "@3.0.0",
        f"{_CALL} textId commHandle rootRank size recvSize",
    ),
    (
        "PROFILER_OVERHEAD",
        "@2020",
        "start end globalTid correlationId<2.9.1 nameId returnValue<3.24.0"
        " overheadType@3.24.0",
    ),
    ("GENERIC_EVENT_SOURCES", "@2021<3.4.0", "sourceId data:text"),
    ("GENERIC_EVENT_TYPES", "@2021<3.4.0", "typeId sourceId data:text"),
    ("GENERIC_EVENTS", "@2021<3.4.0", "rawTimestamp timestamp typeId data:text"),
    (
        "TARGET_INFO_GPU_METRICS",
        "@3.4.0",
        "typeId sourceId typeName:text metricId metricName:text",
    ),
    ("GPU_METRICS", "@3.4.0", "rawTimestamp timestamp typeId metricId value"),
    (
        "TARGET_INFO_NIC_INFO",
        "@3.0.0",
        "GUID stateName:text nicId name:text deviceId vendorId linkLayer",
    ),
    ("NIC_ID_MAP", "@3.0.0", "nicId globalId"),
    (
        "TARGET_INFO_NETWORK_METRICS",
        "@3.0.0",
        "metricsListId metricsIdx name:text description:text unit:text",
    ),
    (
        "NET_NIC_METRIC",
        "@3.0.0",
        "start end globalId portId metricsListId metricsIdx value",
    ),
    (
        "DIAGNOSTIC_EVENT",
        "@3.13.2",
        "timestamp timestampType source severity text:text globalPid",
    ),
    ("EXPORT_META_DATA", "@2.9.1<3.4.0", "name:text value:text"),
    ("META_DATA_EXPORT", "@3.4.0", "name:text value:text"),
    ("META_DATA_CAPTURE", "@3.4.0", "name:text value:text"),
    ("ENUM_CUDA_MEMCPY_OPER", "@3.0.0", "id name:text label:text"),
)


class _Column(NamedTuple):
    name: str
    kind: str


def is_at_least(release: str, since: str) -> bool:
    """Tell whether a version is `since` or a later one."""
    return RELEASES.index(release) >= RELEASES.index(since)


def columns_of(release: str) -> dict[str, list[_Column]]:
    """Return the columns of each table of a version."""
    return {
        table: [
            _Column(match["name"], match["kind"] or "")
            for match in _COLUMN.finditer(columns)
            if _has(release, match)
        ]
        for table, span, columns in _TABLES
        if _has(release, _parsed(f"x{span}"))
    }


def make_export(
    path: Path,
    release: str,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    version: str | None = None,
) -> Path:
    """Write an export of a version.

    Cells that a version has no column for are left out. In those of 2019 every column
    is NOT NULL and holds 0 or "" where there is nothing.

    Args:
        path: The file to write.
        release: One of `RELEASES`.
        rows: Rows by table, with the columns of the newest version.
        version: The version that it states; None for that of `release`.
    """
    unknown = rows.keys() - {table for table, *_ in _TABLES}
    assert not unknown, unknown
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, columns in columns_of(release).items():
            _write(connection, release, table, columns, rows.get(table, ()))
        if release not in UNVERSIONED:
            name = "META_DATA_EXPORT" if is_at_least(release, "3.4.0") else None
            connection.execute(
                f"INSERT INTO {name or 'EXPORT_META_DATA'} VALUES (?, ?)",
                ("EXPORT_SCHEMA_VERSION", version or release),
            )
    return path


def _write(
    connection: sqlite3.Connection,
    release: str,
    table: str,
    columns: Sequence[_Column],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    old = release == "2019"
    must = " NOT NULL" if old else ""
    declared = ", ".join(f'"{c.name}" {_SQL[c.kind]}{must}' for c in columns)
    number = "id INTEGER PRIMARY KEY AUTOINCREMENT, "
    numbered = old and table not in ("StringIds", "COMPOSITE_EVENTS")
    numbered = numbered and not any(c.name == "id" for c in columns)
    connection.execute(f"CREATE TABLE {table} ({number if numbered else ''}{declared})")
    names = ", ".join(f'"{column.name}"' for column in columns)
    marks = ", ".join("?" * len(columns))
    for row in rows:
        cells = []
        for column in columns:
            cell = row.get(column.name)
            if cell is None and old:
                cell = "" if column.kind == "text" else 0
            cells.append(cell)
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", cells)


def _parsed(text: str) -> re.Match[str]:
    match = _COLUMN.fullmatch(text)
    assert match, text
    return match


def _has(release: str, match: re.Match[str]) -> bool:
    since, until = match["since"], match["until"]
    return (not since or is_at_least(release, since)) and not (
        until and is_at_least(release, until)
    )
