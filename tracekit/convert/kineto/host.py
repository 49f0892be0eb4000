"""What happened on the host: operators, calls, annotations, Python, memory."""

import re
from collections.abc import Iterator, Sequence

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
from tracekit.convert.kineto.events import (
    CallArgs,
    Event,
    MemoryArgs,
    OperatorArgs,
    PythonArgs,
    RangeArgs,
)
from tracekit.convert.names import api_name
from tracekit.convert.readers.base import Batch

_STEP = re.compile(r"ProfilerStep#(\d+)")
_STEP_MARK = "ProfilerStep#"
_MODULE = "nn.Module: "
_CPU = 0


def canonical_json(text: str) -> str | None:
    """Return JSON text without spaces, or None for what is no JSON or is empty."""
    if not text:
        return None
    try:
        return msgspec.json.encode(msgspec.json.decode(text)).decode()
    except (msgspec.DecodeError, RecursionError):
        return None


def operators(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield operators; profiler steps among them, as old versions wrote, as such."""
    names = words([event.name for event in events])
    are_steps = map_distinct(
        names, lambda name: name.startswith(_STEP_MARK), pa.bool_()
    )
    if are_steps.true_count:
        mask = are_steps.to_pylist()
        steps = [event for event, is_step in zip(events, mask, strict=True) if is_step]
        yield from annotations(steps, context)
        events = [e for e, is_step in zip(events, mask, strict=True) if not is_step]
        names = words([event.name for event in events])
    if "operator" not in context.tables or not events:
        return
    args = context.args(OperatorArgs, events)

    def json_column(texts: Sequence[msgspec.Raw]) -> pa.Array:
        return map_distinct(
            json_texts(texts, context.note), canonical_json, pa.string()
        )

    sequences = integers([found.sequence for found in args])
    yield batch(
        "operator",
        context.rank,
        len(events),
        {
            **context.identity.host(events),
            "name": names,
            **context.interval(events),
            "input_shapes": json_column(
                [found.dims or found.old_dims for found in args]
            ),
            "input_types": json_column([found.types for found in args]),
            "input_strides": json_column([found.strides for found in args]),
            "concrete_inputs": json_column([found.concrete for found in args]),
            # -1 is how PyTorch writes that there is none.
            "sequence": pc.if_else(pc.less(sequences, ZERO), NONE, sequences),
            # 0 is written where no execution trace was taken along.
            "record_function_id": integers([found.record or None for found in args]),
        },
    )


def annotations(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield ranges that a record_function made, and profiler steps of them."""
    count = len(events)
    columns = {
        **context.identity.host(events),
        "text": words([event.name for event in events]),
        **context.interval(events),
    }
    if "annotation" in context.tables:
        kind = repeated("push_pop", count, pa.string())
        yield batch("annotation", context.rank, count, {**columns, "kind": kind})
    if "step" not in context.tables:
        return
    matches = [_STEP.fullmatch(event.name or "") for event in events]
    named = [place for place, match in enumerate(matches) if match]
    args = context.args(RangeArgs, [events[place] for place in named])
    for place, found_args in zip(named, args, strict=True):
        # Steps that are operators, as in 2020, have the args of operators.
        if getattr(found_args, "finished", None) is False:
            # Open when the recording ended: its end is that of the recording.
            matches[place] = None
    chosen = pa.array([match is not None for match in matches])
    if not chosen.true_count:
        return
    found = {name: column.filter(chosen) for name, column in columns.items()}
    valid = pc.is_valid(found["end_ns"])
    yield batch(
        "step",
        context.rank,
        chosen.true_count,
        {
            "step_index": integers([int(match[1]) for match in matches if match]),
            "process_id": found["process_id"],
            "name": found["text"],
            "start_ns": found["start_ns"],
            "end_ns": found["end_ns"],
            "source": repeated("profiler", len(valid), pa.string()),
        },
    )


def _calls(domain: str, events: Sequence[Event], context: Context) -> Iterator[Batch]:
    args = context.args(CallArgs, events)
    names = words([event.name for event in events])
    yield batch(
        "api_call",
        context.rank,
        len(events),
        {
            **context.identity.host(events),
            "domain": repeated(domain, len(events), pa.string()),
            "name": map_distinct(names, api_name, pa.string()),
            **context.interval(events),
            "correlation_id": integers([found.correlation or None for found in args]),
        },
    )


def runtime_calls(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield calls of a runtime API."""
    yield from _calls("runtime", events, context)


def driver_calls(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield calls of a driver API."""
    yield from _calls("driver", events, context)


def python_functions(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield calls of Python functions, and runs of layers among them."""
    args = context.args(PythonArgs, events)
    columns = {
        **context.identity.host(events),
        "name": words([event.name for event in events]),
        **context.interval(events),
    }
    if "python_function" in context.tables:
        yield batch(
            "python_function",
            context.rank,
            len(events),
            {
                **columns,
                "python_id": integers([found.id for found in args]),
                "parent_python_id": integers([found.parent for found in args]),
            },
        )
    if "module" not in context.tables:
        return
    layers = pa.array([(event.name or "").startswith(_MODULE) for event in events])
    if layers.true_count:
        found = {name: column.filter(layers) for name, column in columns.items()}
        found["name"] = map_distinct(
            found["name"], lambda name: name.removeprefix(_MODULE), pa.string()
        )
        yield batch("module", context.rank, layers.true_count, found)


def overheads(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield what the profiler cost."""
    args = context.args(CallArgs, events)
    identity = context.identity
    # Most are of no thread: pid -1, tid 0.
    threads = [
        identity.thread(event.pid, event.tid)
        if isinstance(event.pid, int) and event.pid > 0
        else None
        for event in events
    ]
    yield batch(
        "overhead",
        context.rank,
        len(events),
        {
            "process_id": integers(
                [identity.process(event.pid) for event in events], pa.int32()
            ),
            "thread_id": integers(threads, pa.int32()),
            "kind": words([event.name for event in events]),
            "correlation_id": integers([found.correlation or None for found in args]),
            **context.interval(events),
        },
    )


def instants(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield allocations and releases, and other instants as marks."""
    memory = [event for event in events if event.name == "[memory]"]
    if memory and "memory_event" in context.tables:
        yield _memory(memory, context)
    marks = [event for event in events if event.cat and event.name != "[memory]"]
    own = len(events) - len(memory) - len(marks)
    if own:
        context.log.skip("instant", "where the profiler's own window begins, ends", own)
    if marks and "annotation" in context.tables:
        times = context.times([event.ts for event in marks])
        yield batch(
            "annotation",
            context.rank,
            len(marks),
            {
                **context.identity.host(marks),
                "kind": repeated("mark", len(marks), pa.string()),
                "text": words([event.name for event in marks]),
                "start_ns": times,
                "end_ns": times,
            },
        )


def _memory(events: Sequence[Event], context: Context) -> Batch:
    args = context.args(MemoryArgs, events)
    sizes = integers([found.bytes for found in args])
    on_cpu = [found.device_type == _CPU for found in args]
    kinds = pc.if_else(pc.less(sizes, ZERO), "free", "allocate")
    return batch(
        "memory_event",
        context.rank,
        len(events),
        {
            **context.identity.host(events),
            "device_id": context.identity.devices(
                None
                if cpu or found.device is None or found.device < 0
                else found.device
                for cpu, found in zip(on_cpu, args, strict=True)
            ),
            "time_ns": context.times([event.ts for event in events]),
            "kind": kinds,
            "address": integers([found.address for found in args]),
            "bytes": pc.abs(sizes),
            "allocator": repeated("torch", len(events), pa.string()),
            "memory_kind": words(
                [
                    None
                    if found.device_type is None
                    else "pageable"
                    if cpu
                    else "device"
                    for cpu, found in zip(on_cpu, args, strict=True)
                ]
            ),
            "total_allocated_bytes": integers([found.allocated for found in args]),
            "total_reserved_bytes": integers([found.reserved for found in args]),
        },
    )
