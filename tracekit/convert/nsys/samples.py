"""Sampled values: GPU metrics, network adapters, CPU scheduling and call stacks."""

import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.nsys.definitions import definitions, described_name
from tracekit.convert.nsys.export import Export
from tracekit.convert.nsys.fields import (
    Drop,
    EventTable,
    Lookups,
    Number,
    Process,
    Stack,
    Thread,
)
from tracekit.convert.nsys.mapping import by_rank, map_table, rows_of, table_rows
from tracekit.convert.readers.base import Batch, CaptureLog
from tracekit.schema import HOST_RANK, TABLES

_SAMPLES = EventTable(
    "COMPOSITE_EVENTS",
    "cpu_sample",
    {
        "process_id": Process("globalTid"),
        "thread_id": Thread("globalTid"),
        "cpu": Number("cpu"),
        "time_ns": Number("start"),
        "call_stack_id": Stack("id", "SAMPLING_CALLCHAINS"),
    },
    frozenset({"start"}),
    owner="globalTid",
    keep=Drop("cpuCycles", frozenset({0}), "the stack of a context switch, no sample"),
)
_THREAD_STATES = {
    1: "running",
    2: "interruptible",
    3: "uninterruptible",
    4: "stopped",
    5: "terminated",
    6: "unscheduled",
    7: "waiting",
    8: "os_runtime",
    9: "initialized",
    10: "transition",
}
_UNIT = re.compile(r"(?P<metric>.*\S)\s*\[(?P<unit>[^\]]*)\]")
# The bracket names the unit that the viewer shows; the export holds hertz (H200:
# 1,979,361,604 for "GPC Clock Frequency [MHz]", at a maximum clock of 1.98 GHz).
_UNITS = {"Throughput %": "%", "MHz": "Hz", "Avg": "average"}
# A GPU metric's typeId holds the GPU's number in its low byte.
_GPU_OF_TYPE = 0xFF
_BLOCK_ROWS = 65_536


def read_samples(export: Export, lookups: Lookups, log: CaptureLog) -> Iterator[Batch]:
    """Yield counter samples, CPU slices and CPU samples."""
    yield from _gpu_metrics(export, lookups, log)
    yield from _generic_gpu_metrics(export, lookups, log)
    yield from _network(export, lookups, log)
    yield from _slices(export, lookups)
    yield from map_table(_SAMPLES, export, lookups, log)


def read_stacks(lookups: Lookups) -> Iterator[Batch]:
    """Yield the frames of call stacks."""
    table = TABLES["call_stack"]
    rank = lookups.identity.default_rank()
    for frames in lookups.stacks.rows():
        columns = dict(zip(frames.schema.names, frames.columns, strict=True))
        yield Batch(table.name, rank, table_rows(table, frames.num_rows, columns))


def _gpu_metrics(export: Export, lookups: Lookups, log: CaptureLog) -> Iterator[Batch]:
    names: dict[tuple[int, int], tuple[str, str | None]] = {}
    for row in definitions(
        export,
        "TARGET_INFO_GPU_METRICS",
        log,
        integers="typeId metricId",
        texts="metricName",
    ):
        names[row["typeId"], row["metricId"]] = _metric(row["metricName"] or "unnamed")
    wanted = ("timestamp", "typeId", "metricId", "value")
    if not set(wanted) <= export.columns("GPU_METRICS"):
        return
    schema = pa.schema([(name, pa.int64()) for name in wanted])
    table = TABLES["counter_sample"]
    for raw in export.batches("GPU_METRICS", schema):
        types = raw.column("typeId").dictionary_encode()
        type_of = types.dictionary.to_pylist()
        # Few types and metrics, many rows: each pair is looked up once.
        metrics = pc.bit_wise_and(raw.column("metricId"), 0xFFFFFFFF)
        keys = pc.bit_wise_or(
            pc.shift_left(types.indices.cast(pa.int64()), 32), metrics
        )

        def name(key: int, type_of: list[int] = type_of) -> tuple[str, str | None]:
            pair = type_of[key >> 32], key & 0xFFFFFFFF
            return names.get(pair, (f"metric {pair[1]}", None))

        rows = table_rows(
            table,
            raw.num_rows,
            {
                "host": _host(raw.num_rows, lookups),
                "source": _same("gpu", raw.num_rows),
                "device_id": map_distinct(
                    raw.column("typeId"),
                    lambda value: lookups.devices.gpu(value & _GPU_OF_TYPE),
                    pa.int32(),
                ),
                "time_ns": raw.column("timestamp"),
                "metric": map_distinct(keys, lambda key: name(key)[0], pa.string()),
                "unit": map_distinct(keys, lambda key: name(key)[1], pa.string()),
                "value": raw.column("value").cast(pa.float64(), safe=False),
            },
        )
        yield Batch(table.name, HOST_RANK, rows)


def _metric(recorded: str) -> tuple[str, str | None]:
    """Part `SMs Active [Throughput %]` into metric and unit."""
    match = _UNIT.fullmatch(recorded)
    if match is None:
        return recorded, None
    return match["metric"], _UNITS.get(match["unit"], match["unit"])


def _generic_gpu_metrics(
    export: Export, lookups: Lookups, log: CaptureLog
) -> Iterator[Batch]:
    """Read the older form: one JSON object of all metrics a sample."""
    if not {"timestamp", "typeId", "data"} <= export.columns("GENERIC_EVENTS"):
        return
    if export.count("GPU_METRICS"):
        return
    table = TABLES["counter_sample"]
    host = lookups.identity.only_host()
    other = _other_types(export, lookups, log)
    block: list[dict[str, Any]] = []
    wanted = pa.schema(
        [("timestamp", pa.int64()), ("typeId", pa.int64()), ("data", pa.string())]
    )
    for raw in export.batches("GENERIC_EVENTS", wanted):
        for time_ns, type_id, data in zip(*raw.to_pydict().values(), strict=True):
            if type_id in other:
                log.skip("GENERIC_EVENTS", f"an event of {other[type_id]}")
                continue
            values = _numbers(data)
            if not values:
                log.skip("GENERIC_EVENTS", "an event that holds no numbers")
                continue
            for recorded, value in values.items():
                metric, unit = _metric(recorded)
                block.append(
                    {
                        "host": host,
                        "source": "gpu",
                        "device_id": None
                        if type_id is None
                        else lookups.devices.gpu(type_id & _GPU_OF_TYPE),
                        "time_ns": time_ns,
                        "metric": metric,
                        "unit": unit,
                        "value": value,
                    }
                )
            if len(block) >= _BLOCK_ROWS:
                yield Batch(table.name, HOST_RANK, rows_of(table, block))
                block = []
    if block:
        yield Batch(table.name, HOST_RANK, rows_of(table, block))


def _other_types(
    export: Export, lookups: Lookups, log: CaptureLog
) -> dict[int | None, str]:
    """Return the types of events whose source is known and is no GPU metric."""
    sources = {
        row["sourceId"]: _named(row, lookups)
        for row in definitions(
            export,
            "GENERIC_EVENT_SOURCES",
            log,
            integers="sourceId nameId",
            texts="data",
        )
    }
    found: dict[int | None, str] = {}
    for row in definitions(
        export, "GENERIC_EVENT_TYPES", log, integers="typeId sourceId"
    ):
        source = sources.get(row["sourceId"])
        if row["typeId"] is None or not source:
            continue
        if "gpumetrics" not in re.sub(r"[^a-z]", "", source.lower()):
            found[row["typeId"]] = source
    return found


def _named(row: dict[str, Any], lookups: Lookups) -> str | None:
    """Return a name that stands as a string id, or in JSON as until 2022."""
    return lookups.strings.text(row["nameId"]) or described_name(row["data"] or "")


def _numbers(data: str | None) -> dict[str, float]:
    """Return the numbers of a JSON object; they may stand in quotes."""
    try:
        found = msgspec.json.decode(data or "", type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
    numbers: dict[str, float] = {}
    for name, value in found.items():
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            continue
        if math.isfinite(number):
            numbers[name] = number
    return numbers


def _network(export: Export, lookups: Lookups, log: CaptureLog) -> Iterator[Batch]:
    """Read the metrics of network adapters: `--nic-metrics=true`."""
    names = {
        (row["metricsListId"], row["metricsIdx"]): (row["name"], row["unit"])
        for row in definitions(
            export,
            "TARGET_INFO_NETWORK_METRICS",
            log,
            integers="metricsListId metricsIdx",
            texts="name unit",
        )
    }
    nic_of = {
        row["globalId"]: row["nicId"]
        for row in definitions(export, "NIC_ID_MAP", log, integers="globalId nicId")
    }
    titles = {
        row["nicId"]: row["name"]
        for row in definitions(
            export, "TARGET_INFO_NIC_INFO", log, integers="nicId", texts="name"
        )
    }
    table = TABLES["counter_sample"]
    host = lookups.identity.only_host()
    block: list[dict[str, Any]] = []
    for row in definitions(
        export,
        "NET_NIC_METRIC",
        log,
        integers="start end globalId portId metricsListId metricsIdx",
        reals="value",
    ):
        metric, unit = names.get(
            (row["metricsListId"], row["metricsIdx"]),
            (f"metric {row['metricsIdx']}", None),
        )
        nic = nic_of.get(row["globalId"], row["globalId"])
        instance = titles.get(nic) or f"nic {nic}"
        port = row["portId"]
        block.append(
            {
                "host": host,
                "source": "nic",
                "instance": instance if port is None else f"{instance} port {port}",
                "time_ns": row["start"] if row["end"] is None else row["end"],
                "metric": metric,
                "unit": unit,
                "value": row["value"],
            }
        )
        if len(block) >= _BLOCK_ROWS:
            yield Batch(table.name, HOST_RANK, rows_of(table, block))
            block = []
    if block:
        yield Batch(table.name, HOST_RANK, rows_of(table, block))


def _slices(export: Export, lookups: Lookups) -> Iterator[Batch]:
    """Pair each switch-in with the next event of its thread.

    The export writes events, not spans; a thread that is on a core when the capture
    ends has no end.
    """
    wanted = {"start", "cpu", "isSchedIn", "globalTid"}
    present = export.columns("SCHED_EVENTS")
    if not wanted <= present:
        return
    names = [*sorted(wanted), *({"threadState"} & present)]
    events = pa.Table.from_batches(
        export.batches("SCHED_EVENTS", pa.schema([(n, pa.int64()) for n in names])),
        pa.schema([(n, pa.int64()) for n in names]),
    )
    if not events.num_rows:
        return
    order = [
        ("globalTid", "ascending"),
        ("start", "ascending"),
        ("isSchedIn", "ascending"),
    ]
    events = events.sort_by(order).combine_chunks()
    column = {name: events[name].combine_chunks() for name in names}
    following = {name: _next(values) for name, values in column.items()}
    taken_off = pc.and_(
        pc.equal(column["globalTid"], following["globalTid"]),
        pc.equal(following["isSchedIn"], 0),
    ).fill_null(fill_value=False)
    nothing = pa.scalar(None, pa.int64())
    ends = pc.if_else(taken_off, following["start"], nothing)
    states = pc.if_else(taken_off, following.get("threadState", nothing), nothing)
    begins = pc.not_equal(column["isSchedIn"], 0)
    tids = column["globalTid"].filter(begins)
    table = TABLES["cpu_slice"]
    rows = table_rows(
        table,
        len(tids),
        {
            "host": _host(len(tids), lookups),
            "cpu": column["cpu"].filter(begins),
            "process_id": lookups.identity.processes(tids),
            "thread_id": lookups.identity.threads(tids),
            "start_ns": column["start"].filter(begins),
            "end_ns": ends.filter(begins),
            "end_state": map_distinct(
                states.filter(begins), _THREAD_STATES.get, pa.string()
            ),
        },
    )
    raw = pa.RecordBatch.from_arrays([tids], ["globalTid"])
    yield from by_rank(rows, table, raw, "globalTid", lookups)


def _next(values: pa.Array) -> pa.Array:
    return pa.concat_arrays([values[1:], pa.nulls(1, values.type)])


def _same(word: str, count: int) -> pa.Array:
    zeros = pa.repeat(pa.scalar(0, pa.int32()), count)
    return pa.DictionaryArray.from_arrays(zeros, pa.array([word]))


def _host(count: int, lookups: Lookups) -> pa.Array:
    host = lookups.identity.only_host()
    return pa.nulls(count, pa.string()) if host is None else _same(host, count)
