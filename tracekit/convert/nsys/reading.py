"""Reads an export: events, definitions, facts, and why a table is empty."""

from collections.abc import Iterator
from typing import Any

from tracekit.convert.nsys.absence import explain_absence
from tracekit.convert.nsys.definitions import definitions
from tracekit.convert.nsys.devices import Devices
from tracekit.convert.nsys.environment import (
    Environment,
    origin_utc_ns,
    read_environment,
)
from tracekit.convert.nsys.export import Export
from tracekit.convert.nsys.fields import Lookups
from tracekit.convert.nsys.identity import Identity
from tracekit.convert.nsys.mapping import map_table, rows_of
from tracekit.convert.nsys.nvtx import read_nvtx
from tracekit.convert.nsys.samples import read_samples, read_stacks
from tracekit.convert.nsys.stacks import Stacks
from tracekit.convert.nsys.strings import Strings
from tracekit.convert.nsys.tables import EVENT_TABLES, NEWEST_KNOWN, STREAM_KINDS
from tracekit.convert.readers.base import Batch, CaptureLog, Reading
from tracekit.schema import HOST_RANK, TABLES

_SEVERITIES = {1: "info", 2: "warning", 3: "error", 4: "info"}
# Tables that hold no events: definitions, settings, and what is withheld.
_NO_EVENTS = ("ENUM_", "META_DATA_", "EXPORT_META", "TARGET_INFO_", "NVTX_PAYLOAD_")
_READ_ELSEWHERE = frozenset(
    {
        "StringIds",
        "PROCESSES",
        "ThreadNames",
        "ANALYSIS_DETAILS",
        "ANALYSIS_FILE",
        "ProcessStreams",
        "DIAGNOSTIC_EVENT",
        "NVTX_EVENTS",
        "GPU_METRICS",
        "GENERIC_EVENTS",
        "GENERIC_EVENT_TYPES",
        "GENERIC_EVENT_SOURCES",
        "GENERIC_EVENT_TYPE_FIELDS",
        "GENERIC_EVENT_TYPE_FIELD_MAP",
        "NET_NIC_METRIC",
        "NIC_ID_MAP",
        "NET_DEVICE_INFO",
        "SCHED_EVENTS",
        "COMPOSITE_EVENTS",
        "SAMPLING_CALLCHAINS",
        "CUDA_CALLCHAINS",
        "OSRT_CALLCHAINS",
        "MPI_RANKS",
        "MPI_COMMUNICATORS",
        "UnwindMethodType",
    }
)
# The columns that together name a process.
_PROCESS = "hwId vmId processId"


def read_export(export: Export, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of `tables` that an export holds; see `Reader.read`."""
    name, tables, log = reading.name, reading.tables, reading.log
    environment = read_environment(export, log)
    _check_version(log)
    strings = Strings(export)
    identity = Identity(export, strings, environment, name, log)
    lookups = Lookups(
        strings,
        identity,
        Devices(export, identity, log),
        Stacks(export, strings),
    )
    seen: set[str] = set()
    # A GPU comes before what refers to it, so that one that several captures share
    # can be told.
    listed = lookups.devices.rows()
    if listed and "device" in tables:
        seen.add("device")
        yield Batch("device", HOST_RANK, rows_of(TABLES["device"], listed))
    for batch in _events(export, lookups, tables, log):
        if batch.table in tables:
            seen.add(batch.table)
            yield batch
    for batch in _definitions(export, lookups, environment, len(listed), log):
        if batch.table in tables and batch.rows.num_rows:
            seen.add(batch.table)
            yield batch
    origin = origin_utc_ns(export, log)
    for facts in log.ranks.values():
        facts.origin_utc_ns = origin
    _count_unread(export, log)
    explain_absence(export, frozenset(seen), tables, log)


def _events(
    export: Export, lookups: Lookups, tables: frozenset[str], log: CaptureLog
) -> Iterator[Batch]:
    for event_table in EVENT_TABLES:
        if event_table.target in tables:
            yield from map_table(event_table, export, lookups, log)
    if {"annotation", "collective"} & tables:
        yield from read_nvtx(export, lookups, log)
    if {"counter_sample", "cpu_slice", "cpu_sample"} & tables:
        yield from read_samples(export, lookups, log)
    if "call_stack" in tables:
        yield from read_stacks(lookups)


def _definitions(
    export: Export,
    lookups: Lookups,
    environment: Environment,
    listed: int,
    log: CaptureLog,
) -> Iterator[Batch]:
    """Yield what describes the processes and devices that were met.

    The first `listed` devices are known already.
    """
    identity = lookups.identity
    contexts: dict[int, list[dict[str, Any]]] = {}
    for rank, row in _contexts(export, lookups, log):
        contexts.setdefault(rank, []).append(row)
    streams: dict[int, list[dict[str, Any]]] = {}
    for rank, row in _streams(export, identity, log):
        streams.setdefault(rank, []).append(row)
    processes: dict[int, list[dict[str, Any]]] = {}
    for rank, row in identity.known_processes():
        processes.setdefault(rank, []).append(row)
    threads: dict[int, list[dict[str, Any]]] = {}
    for rank, row in identity.known_threads():
        threads.setdefault(rank, []).append(row)
    for name, by_rank in (
        ("process", processes),
        ("thread", threads),
        ("context", contexts),
        ("stream", streams),
    ):
        for rank in sorted(by_rank):
            yield Batch(name, rank, rows_of(TABLES[name], by_rank[rank]))
    rank = identity.default_rank()
    device = TABLES["device"]
    yield Batch("device", HOST_RANK, rows_of(device, lookups.devices.rows()[listed:]))
    yield Batch(
        "diagnostic",
        rank,
        rows_of(TABLES["diagnostic"], _messages(export, identity, log)),
    )
    yield Batch("run_fact", rank, rows_of(TABLES["run_fact"], _facts(environment)))


def _contexts(
    export: Export, lookups: Lookups, log: CaptureLog
) -> Iterator[tuple[int, dict[str, Any]]]:
    identity = lookups.identity
    # Until 2024 the table had another name and fewer columns.
    for table in ("TARGET_INFO_CUDA_CONTEXT_INFO", "TARGET_INFO_CUDA_NULL_STREAM"):
        for row in definitions(
            export,
            table,
            log,
            integers=f"{_PROCESS} contextId deviceId nullStreamId streamId"
            " parentContextId isGreenContext",
        ):
            key = _process_key(row)
            process_id = identity.met(key)
            if process_id is None:
                continue
            green, ordinal = row["isGreenContext"], row["deviceId"]
            stream = row["nullStreamId"]
            yield (
                identity.rank(key),
                {
                    "process_id": process_id,
                    "context_id": row["contextId"],
                    "device_id": None
                    if ordinal is None
                    else lookups.devices.device(key, ordinal),
                    "cuda_ordinal": ordinal,
                    "null_stream_id": row["streamId"] if stream is None else stream,
                    "parent_context_id": row["parentContextId"] or None,
                    "is_green": None if green is None else bool(green),
                },
            )


def _streams(
    export: Export, identity: Identity, log: CaptureLog
) -> Iterator[tuple[int, dict[str, Any]]]:
    # The names that the program gave through NVTX.
    names = {
        (_process_key(row), row["contextId"], row["streamId"]): row["name"]
        for row in definitions(
            export,
            "TARGET_INFO_NVTX_CUDA_STREAM",
            log,
            integers=f"{_PROCESS} contextId streamId",
            texts="name",
        )
    }
    for row in definitions(
        export,
        "TARGET_INFO_CUDA_STREAM",
        log,
        integers=f"{_PROCESS} contextId streamId priority flag",
    ):
        key = _process_key(row)
        process_id = identity.met(key)
        if process_id is not None:
            yield (
                identity.rank(key),
                {
                    "process_id": process_id,
                    "context_id": row["contextId"],
                    "stream_id": row["streamId"],
                    "name": names.get((key, row["contextId"], row["streamId"])),
                    # Written unsigned: -3 is 4294967293.
                    "priority": _signed(row["priority"]),
                    "kind": STREAM_KINDS.get(row["flag"]),
                },
            )


def _process_key(row: dict[str, Any]) -> int:
    return int(
        (row["hwId"] or 0) << 32 | (row["vmId"] or 0) << 24 | (row["processId"] or 0)
    )


def _signed(value: int | None) -> int | None:
    return value - 2**32 if value is not None and value >= 2**31 else value


def _messages(
    export: Export, identity: Identity, log: CaptureLog
) -> list[dict[str, Any]]:
    return [
        {
            "time_ns": row["timestamp"],
            "severity": _SEVERITIES.get(row["severity"], "info"),
            "source": "profiler",
            "text": row["text"],
            "process_id": identity.met((row["globalPid"] or 0) >> 24),
        }
        for row in definitions(
            export,
            "DIAGNOSTIC_EVENT",
            log,
            integers="timestamp severity globalPid",
            texts="text",
        )
    ]


def _facts(environment: Environment) -> list[dict[str, Any]]:
    machine = [
        {"key": key, "value": value, "source": "TARGET_INFO_SYSTEM_ENV"}
        for key, value in sorted(environment.facts.items())
    ]
    variables = [
        {"key": f"env.{name}", "value": value, "source": "environment"}
        for name, value in sorted(environment.variables.items())
    ]
    return machine + variables


def _check_version(log: CaptureLog) -> None:
    parts = (log.schema_version or "0.0").split(".")
    try:
        version = tuple(int(part) for part in parts[:2])
    except ValueError:
        return
    if version > NEWEST_KNOWN:
        newest = ".".join(str(part) for part in NEWEST_KNOWN)
        log.diagnose(
            "warning",
            f"the export has schema {log.schema_version}, newer than {newest}, which "
            "is the newest known: it is read as far as its columns allow",
        )


def _count_unread(export: Export, log: CaptureLog) -> None:
    read = _READ_ELSEWHERE | {table.source for table in EVENT_TABLES}
    for table in export.tables():
        base = table.partition("_V")[0] if table[-1:].isdigit() else table
        if table in read or base in read or table.startswith(_NO_EVENTS):
            continue
        rows = export.count(table)
        if rows:
            log.skip(table, "no normalized table holds it", rows)
