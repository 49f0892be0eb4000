"""Every table and column of an export, spoiled in turn, each in several ways."""

import random
from pathlib import Path
from typing import NamedTuple

from tests.support.exports import edit, export_in, select

# Tables that the recorded export lacks, and that a reader reads row by row.
_FURTHER = (
    "CREATE TABLE GENERIC_EVENTS (rawTimestamp INT, timestamp INT, typeId INT,"
    " data TEXT)",
    'INSERT INTO GENERIC_EVENTS SELECT start, start, 7, \'{"SMs Active": "3"}\''
    " FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 5",
    "CREATE TABLE GENERIC_EVENT_TYPES (typeId INT, sourceId INT, nameId INT,"
    " data TEXT)",
    "INSERT INTO GENERIC_EVENT_TYPES VALUES (7, 1, 1, '{}'), (8, 2, 1, '{}')",
    "CREATE TABLE GENERIC_EVENT_SOURCES (sourceId INT, nameId INT, data TEXT)",
    "INSERT INTO GENERIC_EVENT_SOURCES VALUES"
    ' (1, NULL, \'{"data": {"Name": "GpuMetrics"}}\'), (2, 1, \'{}\')',
    "CREATE TABLE SCHED_EVENTS (start INT, cpu INT, isSchedIn INT, globalTid INT,"
    " threadState INT, threadBlock INT)",
    "INSERT INTO SCHED_EVENTS SELECT start, 1, rowid % 2, globalTid, 1, 1"
    " FROM CUPTI_ACTIVITY_KIND_RUNTIME LIMIT 20",
    "CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INT, cpu INT,"
    " threadState INT, globalTid INT, cpuCycles INT)",
    "INSERT INTO COMPOSITE_EVENTS SELECT rowid, start, 1, 1, globalTid, 9"
    " FROM CUPTI_ACTIVITY_KIND_RUNTIME LIMIT 5",
    "CREATE TABLE SAMPLING_CALLCHAINS (id INT, symbol INT, module INT, stackDepth INT)",
    "INSERT INTO SAMPLING_CALLCHAINS SELECT id, 1, 2, 0 FROM COMPOSITE_EVENTS",
    "CREATE TABLE NET_NIC_METRIC (start INT, end INT, globalId INT, portId INT,"
    " metricsListId INT, metricsIdx INT, value INT)",
    "INSERT INTO NET_NIC_METRIC SELECT start, end, 1, 1, 1, 1, 5"
    " FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 5",
    "CREATE TABLE TARGET_INFO_NETWORK_METRICS (metricsListId INT, metricsIdx INT,"
    " name TEXT, description TEXT, unit TEXT)",
    "INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (1, 1, 'sent', '', 'B')",
    "CREATE TABLE NIC_ID_MAP (nicId INT, globalId INT)",
    "INSERT INTO NIC_ID_MAP VALUES (3, 1)",
    "CREATE TABLE TARGET_INFO_NIC_INFO (nicId INT, vendorId INT, name TEXT)",
    "INSERT INTO TARGET_INFO_NIC_INFO VALUES (3, 1, 'mlx5_0')",
    "CREATE TABLE MPI_RANKS (globalTid INT, rank INT)",
    "INSERT INTO MPI_RANKS SELECT globalTid, 2 FROM NVTX_EVENTS LIMIT 1",
    "CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM (hwId INT, vmId INT, processId INT,"
    " deviceId INT, contextId INT, streamId INT, name TEXT)",
    "INSERT INTO TARGET_INFO_NVTX_CUDA_STREAM"
    " SELECT hwId, vmId, processId, 0, contextId, streamId, 'mine'"
    " FROM TARGET_INFO_CUDA_STREAM",
)
# GPU_METRICS hides the older form of the same.
OLDER = ("DROP TABLE GPU_METRICS",)
_MANY_ROWS = 60
_OPEN_ROUNDS = 40

VALUES = {
    "text": "'no number'",
    "empty": "''",
    "blob": "x'00ff'",
    "not_utf8": "CAST(x'ff41fe' AS TEXT)",
    "real": "0.5",
    "infinity": "9e999",
    "minus_infinity": "-9e999",
    "huge": str(2**63 - 1),
    "least": str(-(2**63)),
    "negative": "-1",
    "zero": "0",
    "null": "NULL",
}
"""What each cell of a column becomes, as SQL, by a name of it."""


class Spoil(NamedTuple):
    """A table or a column of it, and what becomes of it."""

    table: str
    column: str | None
    how: str

    def __str__(self) -> str:
        return "-".join(part for part in self if part)


def small_export(folder: Path, *statements: str) -> Path:
    """Write an export that has all tables that are read, and few rows."""
    path = export_in(folder, *_FURTHER, *statements)
    for table in _tables(path):
        edit(path, f'DELETE FROM "{table}" WHERE rowid > {_MANY_ROWS}')
    return path


def _tables(path: Path) -> list[str]:
    found = select(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    return [name for (name,) in found]


def _columns(path: Path, table: str) -> list[str]:
    return [row[1] for row in select(path, f'PRAGMA table_info("{table}")')]


def all_spoils(path: Path) -> list[Spoil]:
    """Return everything that can be spoiled of an export, in a fixed order."""
    found: list[Spoil] = []
    for table in _tables(path):
        # No reader looks at them.
        if table.startswith("ENUM_"):
            continue
        found.append(Spoil(table, None, "dropped"))
        for column in _columns(path, table):
            found += [Spoil(table, column, how) for how in ("dropped", *VALUES)]
    return found


def rounds(spoils: list[Spoil], size: int) -> list[list[Spoil]]:
    """Part spoils into lists of up to `size`, each of different tables.

    What a table lacks hardly hides what another one does; in a round of its own each
    would take ten times as long. The order is the same every time.
    """
    shuffled = random.Random(2).sample(spoils, len(spoils))
    found: list[list[Spoil]] = []
    for spoiled in shuffled:
        for chosen in found[-_OPEN_ROUNDS:]:
            if len(chosen) < size and spoiled.table not in {s.table for s in chosen}:
                chosen.append(spoiled)
                break
        else:
            found.append([spoiled])
    return found


def spoil(path: Path, what: Spoil) -> None:
    """Spoil a table of an export: it is made anew, without types or constraints."""
    table = f'"{what.table}"'
    if what.column is None:
        edit(path, f"DROP TABLE {table}")
        return
    cells = [
        f'{VALUES[what.how]} AS "{name}"' if name == what.column else f'"{name}"'
        for name in _columns(path, what.table)
        if not (name == what.column and what.how == "dropped")
    ]
    edit(
        path,
        f"CREATE TABLE spoiled AS SELECT {', '.join(cells)} FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE spoiled RENAME TO {table}",
    )
