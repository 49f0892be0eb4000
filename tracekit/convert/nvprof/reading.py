"""Reads an nvprof database: events, definitions, and why a table is empty."""

from collections.abc import Callable, Iterator

from tracekit.convert.nsys.mapping import rows_of
from tracekit.convert.nsys.sqlite_export import SqliteExport
from tracekit.convert.nvprof.activities import (
    read_calls,
    read_copies,
    read_fills,
    read_kernels,
    read_syncs,
)
from tracekit.convert.nvprof.database import PREFIX, Database
from tracekit.convert.nvprof.definitions import device_rows, read_definitions
from tracekit.convert.nvprof.records import (
    read_counters,
    read_environment,
    read_markers,
    read_memory,
    read_overhead,
    read_unified_memory,
)
from tracekit.convert.readers.base import Batch, CaptureLog, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.schema import HOST_RANK, TABLES

_EVENTS: tuple[tuple[frozenset[str], Callable[[Database], Iterator[Batch]]], ...] = (
    (frozenset({"kernel"}), read_kernels),
    (frozenset({"memcpy"}), read_copies),
    (frozenset({"memset"}), read_fills),
    (frozenset({"api_call"}), read_calls),
    (frozenset({"sync", "cuda_event"}), read_syncs),
)
_RECORDS: tuple[tuple[frozenset[str], Callable[[Database, RowBatches], None]], ...] = (
    (frozenset({"annotation"}), read_markers),
    (frozenset({"overhead"}), read_overhead),
    (frozenset({"memcpy", "counter_sample"}), read_unified_memory),
    (frozenset({"kernel_metric"}), read_counters),
    (frozenset({"counter_sample"}), read_environment),
    (frozenset({"memory_event"}), read_memory),
)
_READ = frozenset(
    {
        *("KERNEL", "CONCURRENT_KERNEL", "CDP_KERNEL", "MEMCPY", "MEMCPY2", "MEMSET"),
        *("RUNTIME", "DRIVER", "SYNCHRONIZATION", "CUDA_EVENT", "MARKER"),
        *("MARKER_DATA", "OVERHEAD", "UNIFIED_MEMORY_COUNTER", "METRIC", "EVENT"),
        *("METRIC_INSTANCE", "EVENT_INSTANCE", "ENVIRONMENT", "MEMORY", "DEVICE"),
        *("CONTEXT", "STREAM", "NAME"),
    }
)
_TIMED = ("RUNTIME", "DRIVER", "CONCURRENT_KERNEL", "KERNEL", "MEMCPY", "MEMSET")
_HOW = {
    "kernel": "recorded with nvprof -o FILE",
    "memcpy": "the program copied nothing, or nothing was recorded",
    "memset": "the program filled nothing, or nothing was recorded",
    "api_call": "recorded with nvprof --profile-api-trace all",
    "annotation": "the program has no NVTX ranges, or nothing was recorded",
    "sync": "recorded by nvprof of CUDA 10 and later",
    "cuda_event": "recorded by nvprof of CUDA 10 and later",
    "memory_event": "recorded with nvprof --track-memory-allocations on",
    "counter_sample": "recorded with nvprof --system-profiling on",
    "kernel_metric": "recorded with nvprof --metrics or --events, -o FILE",
    "graph_launch": "nvprof does not record it",
    "operator": "nvprof does not record it",
    "library_call": "nvprof does not record it",
    "os_call": "nvprof does not record it",
}


def read_database(export: SqliteExport, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of the wanted tables; see `Reader.read`."""
    database = Database(export, reading)
    log, tables = reading.log, reading.tables
    _tell_version(database)
    log.start_utc_ns = _first_time(database)
    seen: set[str] = set()
    listed = list(device_rows(database))
    yield Batch("device", HOST_RANK, rows_of(TABLES["device"], listed))
    for targets, read in _EVENTS:
        if targets & tables:
            for batch in read(database):
                if batch.table in tables:
                    seen.add(batch.table)
                    yield batch
    rows = RowBatches(reading)
    for targets, collect in _RECORDS:
        if targets & tables:
            collect(database, rows)
            yield from rows.full()
    read_definitions(database, rows)
    yield from rows.rest()
    seen |= rows.tables
    later = list(device_rows(database))[len(listed) :]
    yield Batch("device", HOST_RANK, rows_of(TABLES["device"], later))
    _count_unread(database)
    _explain_absence(seen, tables, log)


def _tell_version(database: Database) -> None:
    for row in database.export.rows("Version"):
        database.log.schema_version = str(row.get("version"))


def _first_time(database: Database) -> int | None:
    """Return the first start; rows are in the order of their ends, or nearly."""
    first: int | None = None
    for table in _TIMED:
        for batch in database.batches(table, ("start",)):
            for start in batch.column("start").drop_null().to_pylist():
                if start > 0 and (first is None or start < first):
                    first = start
    return first


def _count_unread(database: Database) -> None:
    for table in database.export.tables():
        if table.startswith(PREFIX) and table.removeprefix(PREFIX) not in _READ:
            rows = database.export.count(table)
            if rows:
                database.log.skip(table, "no normalized table holds it", rows)


def _explain_absence(seen: set[str], tables: frozenset[str], log: CaptureLog) -> None:
    for table in sorted(tables - seen):
        if table in _HOW:
            log.absent.setdefault(table, _HOW[table])
    if not seen & {"kernel", "memcpy", "memset", "api_call", "annotation"}:
        log.diagnose(
            "warning",
            "the database is whole and holds no events: nothing was recorded in it",
        )
    elif not seen & {"kernel", "memcpy", "memset"}:
        log.diagnose("warning", "no GPU activity was recorded")
