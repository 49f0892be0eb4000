"""Work on a GPU: kernels, copies, fills, and what waited for it."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.kineto.columns import (
    NONE,
    ZERO,
    batch,
    integers,
    json_texts,
    repeated,
    words,
)
from tracekit.convert.kineto.context import Context
from tracekit.convert.kineto.events import CopyArgs, Event, KernelArgs, SyncArgs
from tracekit.convert.names import base_name, demangle, normal_form
from tracekit.convert.readers.base import Batch
from tracekit.convert.steps import PROJECTED

_COPY = re.compile(
    r"(?:Unified )?(?:Memcpy|Copy)\s*(\w+?)?(?:\s*\((.*?) ?-> ?(.*?)\))?$"
)
_FILL = re.compile(r"Memset\s*\((.*)\)")
_KINDS = frozenset(
    {"HtoD", "DtoH", "DtoD", "HtoH", "PtoP", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA"}
)
_LONG_KINDS = {
    "HostToDevice": "HtoD",
    "DeviceToHost": "DtoH",
    "DeviceToDevice": "DtoD",
    "HostToHost": "HtoH",
    "PeerToPeer": "PtoP",
    "H2D": "HtoD",
    "D2H": "DtoH",
    "D2D": "DtoD",
    "H2H": "HtoH",
    "P2P": "PtoP",
}
_MEMORY = {
    "Pageable": "pageable",
    "Pinned": "pinned",
    "Device": "device",
    "Array": "array",
    "Managed": "managed",
    "Device Static": "device_static",
    "Managed Static": "managed_static",
}
_SYNC_KINDS = {
    "Event Sync": "event",
    "Stream Wait Event": "stream_wait_event",
    "Stream Sync": "stream",
    "Context Sync": "context",
    "Device Sync": "context",
}


def canonical_name(name: str) -> str:
    """Return the name that joins tools; Kineto writes what a demangler gave."""
    return demangle(name) if name.startswith("_Z") else normal_form(name)


def _short_name(name: str) -> str:
    return base_name(canonical_name(name))


def _mangled(name: str) -> str | None:
    return name if name.startswith("_Z") else None


def _graph(args: Sequence[Any]) -> dict[str, pa.Array]:
    # 0 is how Kineto writes that no graph launched it.
    return {
        "graph_id": integers([found.graph or None for found in args]),
        "graph_node_id": integers([found.node or None for found in args]),
    }


def _axes(
    what: str, texts: Sequence[msgspec.Raw], context: Context
) -> dict[str, pa.Array]:
    """Return the columns `grid_x` and so on; few shapes occur, each many times."""
    shapes = json_texts(texts, context.note)
    return {
        f"{what}_{axis}": map_distinct(shapes, partial(_axis, place), pa.int32())
        for place, axis in enumerate("xyz")
    }


def _axis(place: int, shape: str) -> int | None:
    try:
        sizes = msgspec.json.decode(shape, type=list[int], strict=False)
    except (msgspec.DecodeError, RecursionError):
        return None
    return sizes[place] if len(sizes) > place and 0 <= sizes[place] < 2**31 else None


def kernels(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield kernels."""
    args = context.args(KernelArgs, events)
    names = words([event.name for event in events])
    # Kineto adds static and dynamic up: they are told apart only where there is none.
    unshared = integers([0 if found.shared == 0 else None for found in args])
    yield batch(
        "kernel",
        context.rank,
        len(events),
        {
            **context.identity.gpu(events, args),
            **_graph(args),
            **context.interval(events),
            "name": names,
            "mangled_name": map_distinct(names, _mangled, pa.string()),
            "canonical_name": map_distinct(names, canonical_name, pa.string()),
            "short_name": map_distinct(names, _short_name, pa.string()),
            **_axes("grid", [found.grid for found in args], context),
            **_axes("block", [found.block for found in args], context),
            "registers_per_thread": integers(
                [found.registers for found in args], pa.int32()
            ),
            "static_shared_bytes": unshared,
            "dynamic_shared_bytes": unshared,
            "shared_bytes": integers([found.shared for found in args]),
        },
    )


def _copy_kind(name: str) -> str | None:
    match = _COPY.match(name)
    kind = match[1] if match else None
    if kind is None:
        return None
    if kind in _KINDS:
        return kind
    return _LONG_KINDS.get(kind)


def _copy_memory(name: str, group: int) -> str | None:
    match = _COPY.match(name)
    return _MEMORY.get(match[group] or "") if match else None


def copies(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield copies."""
    args = context.args(CopyArgs, events)
    names = words([event.name or "" for event in events])
    kinds = map_distinct(names, _copy_kind, pa.string()).cast(pa.string())
    said = words([_LONG_KINDS.get(a.kind or "", a.kind) for a in args]).cast(
        pa.string()
    )
    devices = context.identity.devices
    yield batch(
        "memcpy",
        context.rank,
        len(events),
        {
            **context.identity.gpu(events, args),
            **_graph(args),
            **context.interval(events),
            "bytes": integers([found.bytes for found in args]),
            "copy_kind": pc.coalesce(kinds, said).dictionary_encode(),
            "source_memory_kind": map_distinct(
                names, lambda name: _copy_memory(name, 2), pa.string()
            ),
            "destination_memory_kind": map_distinct(
                names, lambda name: _copy_memory(name, 3), pa.string()
            ),
            "source_device_id": devices(found.source for found in args),
            "destination_device_id": devices(found.destination for found in args),
        },
    )


def _fill_memory(name: str) -> str | None:
    match = _FILL.match(name)
    return _MEMORY.get(match[1]) if match else None


def fills(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield fills."""
    args = context.args(CopyArgs, events)
    names = words([event.name or "" for event in events])
    yield batch(
        "memset",
        context.rank,
        len(events),
        {
            **context.identity.gpu(events, args),
            **_graph(args),
            **context.interval(events),
            "bytes": integers([found.bytes for found in args]),
            "memory_kind": map_distinct(names, _fill_memory, pa.string()),
        },
    )


def synchronizations(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield waits of streams and of the host: no work of the GPU."""
    args = context.args(SyncArgs, events)
    columns = context.identity.gpu(events, args)
    kinds = words(
        [found.kind or event.name for found, event in zip(args, events, strict=True)]
    )
    yield batch(
        "sync",
        context.rank,
        len(events),
        {
            **columns,
            # -1 is how Kineto writes that it does not know.
            "stream_id": _known(columns["stream_id"]),
            **context.interval(events),
            "kind": map_distinct(kinds, _SYNC_KINDS.get, pa.string()),
            "event_id": _known(integers([found.waited for found in args])),
        },
    )


def event_records(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield records of CUDA events."""
    args = context.args(SyncArgs, events)
    yield batch(
        "cuda_event",
        context.rank,
        len(events),
        {
            **context.identity.gpu(events, args),
            "event_id": integers([found.event for found in args]),
            "time_ns": context.times([event.ts for event in events]),
        },
    )


def annotations(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield what the profiler projects of annotations on streams of a GPU."""
    count = len(events)
    yield batch(
        "annotation",
        context.rank,
        count,
        {
            "process_id": repeated(0, count, pa.int32()),
            "kind": repeated("start_end", count, pa.string()),
            "category": repeated(PROJECTED, count, pa.string()),
            "text": words([event.name for event in events]),
            **context.interval(events),
        },
    )


def _known(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.less(column, ZERO), NONE, column)
