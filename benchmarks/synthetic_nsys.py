"""Writes a large Nsight Systems export in the newest schema, inside of SQLite.

Two processes with two threads each train on a GPU of their own. Per process, API calls
follow each other; every second one launches a kernel. Ranges nest four deep. As in
real exports of several processes, the API calls of one process stand behind those of
the other, so the table is not sorted as a whole; kernels and ranges are.
"""

import sqlite3
from pathlib import Path

PROCESSES = 2
_PID = 4000
_VM = 1 << 48
_FIRST_STRING = 1000
_KERNEL_NAMES = 400
_RANGE_NAMES = 64

_SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (
    utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER,
    sessionStartCntVctNs INTEGER
);
CREATE TABLE TARGET_INFO_GPU (
    vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT,
    totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER,
    uuid TEXT, chipName TEXT, cuDevice INTEGER, computeMajor INTEGER,
    computeMinor INTEGER
);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (
    gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT,
    numMultiprocessors INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,
    cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
    gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL,
    blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
    staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
    localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,
    gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,
    sharedMemoryLimitConfig INTEGER, qmdBulkReleaseDone INTEGER,
    qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER, clusterX INTEGER,
    clusterY INTEGER, clusterZ INTEGER, clusterSchedulingPolicy INTEGER,
    maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER,
    sharedMemoryRequestedPercentage INTEGER, tensorSizeMinusOneElements TEXT NOT NULL
);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
    returnValue INTEGER NOT NULL, callchainId INTEGER
);
CREATE TABLE NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
    category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
    endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
    int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,
    floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT,
    eventId INTEGER NOT NULL PRIMARY KEY
);
"""

_CALL_NS = 2_000  # one API call a thread every 2 us
_LEVELS = 4
_CALLS_IN_LEAF = 32


def write_export(path: Path, kernels: int) -> None:
    """Write an export of `kernels` kernels, twice the API calls, a fifth the ranges."""
    calls = 2 * kernels // PROCESSES
    connection = sqlite3.connect(path)
    connection.executescript(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -262144;" + _SCHEMA
    )
    _write_definitions(connection)
    for process in range(PROCESSES):
        _write_calls(connection, process, calls)
    _write_kernels(connection, kernels)
    _write_ranges(connection, kernels // 5)
    connection.commit()
    connection.close()


def _pid(process: int) -> int:
    return _VM + ((_PID + process) << 24)


def _write_definitions(connection: sqlite3.Connection) -> None:
    strings = [(1, "python3"), (2, "cudaLaunchKernel_v7000"), (3, "cudaGetLastError")]
    for number in range(_KERNEL_NAMES):
        template = f"float, {number}"
        strings += [
            (
                _FIRST_STRING + 3 * number,
                f"void at::native::elementwise_kernel_{number}<{template}>(int, T1 *)",
            ),
            (_FIRST_STRING + 3 * number + 1, f"elementwise_kernel_{number}"),
            (
                _FIRST_STRING + 3 * number + 2,
                f"_ZN2at6native{len(f'elementwise_kernel_{number}')}"
                f"elementwise_kernel_{number}IfLi{number}EEEviPT_",
            ),
        ]
    connection.executemany("INSERT INTO StringIds VALUES (?, ?)", strings)
    for process in range(PROCESSES):
        connection.execute(
            "INSERT INTO PROCESSES VALUES (?, ?, 'python3')",
            (_pid(process), _PID + process),
        )
        connection.execute(
            "INSERT INTO ThreadNames VALUES (1, 20, ?)",
            (_pid(process) + _PID + process,),
        )
        connection.execute(
            "INSERT INTO TARGET_INFO_GPU VALUES (?, ?, 'NVIDIA H200', ?, 150109880320,"
            " 4814304000000, 1980000000, 132, ?, 'GH100', ?, 9, 0)",
            (_VM, process, f"0000:0{process}:00.0", f"GPU-{process}", process),
        )
        connection.execute(
            "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, 0, ?, ?, 132)",
            (process, _PID + process, f"GPU-{process}"),
        )
    connection.execute(
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.30.1')"
    )
    connection.execute(
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES"
        " (1796086196495478624, NULL, NULL, 0, 0)"
    )


def _write_calls(connection: sqlite3.Connection, process: int, calls: int) -> None:
    # Thread 1 makes every tenth call.
    connection.execute(
        f"""
        WITH RECURSIVE n(i) AS (
            SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {calls} - 1
        )
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
        SELECT
            1000000 + i * {_CALL_NS} + i % 7,
            1000000 + i * {_CALL_NS} + i % 7 + 900 + (i * 7919) % 800,
            0,
            {_pid(process) + _PID + process} + (i % 10 = 9),
            i,
            2 + i % 2,
            0,
            NULL
        FROM n
        """
    )


def _write_kernels(connection: sqlite3.Connection, kernels: int) -> None:
    each = kernels // PROCESSES
    connection.execute(
        f"""
        WITH RECURSIVE n(i) AS (
            SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {each * PROCESSES} - 1
        )
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
        SELECT
            1005000 + (i / {PROCESSES}) * {2 * _CALL_NS} + i % {PROCESSES},
            1005000 + (i / {PROCESSES}) * {2 * _CALL_NS} + i % {PROCESSES}
                + 1000 + (i * 7907) % 3500,
            0, 1, NULL, 7 + (i / 1000) % 3, 2 * (i / {PROCESSES}),
            {_VM} + (({_PID} + i % {PROCESSES}) << 24),
            {_FIRST_STRING} + 3 * ((i * 31) % {_KERNEL_NAMES}),
            {_FIRST_STRING} + 3 * ((i * 31) % {_KERNEL_NAMES}) + 1,
            {_FIRST_STRING} + 3 * ((i * 31) % {_KERNEL_NAMES}) + 2,
            1, NULL, 32 + (i * 31) % 7 * 8, 1 + (i * 13) % 2048, 1 + i % 4, 1,
            128, 1, 1,
            0, (i * 31) % 5 * 1024, 0, 0, i, 32768, NULL, 0, NULL, NULL, NULL, NULL,
            0, 0, 0, NULL, NULL, NULL, NULL, '[]'
        FROM n
        """
    )


def _write_ranges(connection: sqlite3.Connection, ranges: int) -> None:
    # Range i of a process is a leaf; every 8th also opens its parent, and so on up.
    each = ranges // PROCESSES
    leaf = _CALLS_IN_LEAF * _CALL_NS
    selects = []
    for level in range(_LEVELS):
        width = 8**level
        selects.append(
            f"""
            SELECT
                999500 + i * {leaf} - {level} AS start,
                999500 + (i + {width}) * {leaf} - {_LEVELS - level} AS "end",
                {level} AS level, i, p
            FROM n CROSS JOIN (SELECT 0 AS p UNION ALL SELECT 1) WHERE i % {width} = 0
            """
        )
    connection.execute(
        f"""
        WITH RECURSIVE n(i) AS (
            SELECT 0 UNION ALL SELECT i + 1 FROM n
            WHERE i < {each * 7 // 8 // 8 * 8} - 1
        ),
        nested AS ({" UNION ALL ".join(selects)})
        INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
        SELECT start, "end", 59, 'level ' || level || ' part ' || (i % {_RANGE_NAMES}),
            {_VM} + (({_PID} + p) << 24) + {_PID} + p, 0
        FROM nested ORDER BY start, level DESC
        """
    )
