"""The JSON objects of a trace, as far as they are read.

Field names are those that Kineto writes in its `output_json.cpp`; what older
versions wrote otherwise stands beside it. `args` stays undecoded until its category
says what to look for.
"""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import msgspec

NOTHING = msgspec.Raw(b"")


class Event(msgspec.Struct, gc=False):
    """A trace event."""

    ph: str = ""
    cat: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: msgspec.Raw = NOTHING
    dur: msgspec.Raw = NOTHING
    args: msgspec.Raw = NOTHING
    id: int | str | None = None


class LooseEvent(msgspec.Struct, gc=False):
    """A trace event of which no field need have its type."""

    ph: msgspec.Raw = NOTHING
    cat: msgspec.Raw = NOTHING
    name: msgspec.Raw = NOTHING
    pid: msgspec.Raw = NOTHING
    tid: msgspec.Raw = NOTHING
    ts: msgspec.Raw = NOTHING
    dur: msgspec.Raw = NOTHING
    args: msgspec.Raw = NOTHING
    id: msgspec.Raw = NOTHING


class Args(msgspec.Struct, gc=False):
    """What stands in `args`: base of the structs of each category."""


class CollectiveArgs(Args, gc=False):
    """A communication operation, in the args of its operator or kernel."""

    operation: str | None = msgspec.field(default=None, name="Collective name")
    sent: int | None = msgspec.field(default=None, name="In msg nelems")
    received: int | None = msgspec.field(default=None, name="Out msg nelems")
    dtype: str | None = None
    size: int | None = msgspec.field(default=None, name="Group size")
    group: msgspec.Raw = msgspec.field(default=NOTHING, name="Process Group Name")
    group_id: msgspec.Raw = msgspec.field(default=NOTHING, name="Process Group ID")
    ranks: msgspec.Raw = msgspec.field(default=NOTHING, name="Process Group Ranks")
    order: int | None = msgspec.field(default=None, name="Seq")


class GpuArgs(CollectiveArgs, gc=False):
    """Where work on a GPU ran; kernels that communicate say more."""

    device: int | None = None
    context: int | None = None
    stream: int | None = None
    correlation: int | None = None
    graph: int | None = msgspec.field(default=None, name="graph id")
    node: int | None = msgspec.field(default=None, name="graph node id")


class KernelArgs(GpuArgs, gc=False):
    """A kernel."""

    grid: msgspec.Raw = NOTHING
    block: msgspec.Raw = NOTHING
    registers: int | None = msgspec.field(default=None, name="registers per thread")
    shared: int | None = msgspec.field(default=None, name="shared memory")


class CopyArgs(GpuArgs, gc=False):
    """A copy or a fill."""

    bytes: int | None = None
    kind: str | None = None
    source: int | None = msgspec.field(default=None, name="fromDevice")
    destination: int | None = msgspec.field(default=None, name="toDevice")


class SyncArgs(GpuArgs, gc=False):
    """A synchronization, or the record of an event."""

    kind: str | None = msgspec.field(default=None, name="cuda_sync_kind")
    waited: int | None = msgspec.field(default=None, name="wait_on_cuda_event_id")
    event: int | None = msgspec.field(default=None, name="event_id")


class CallArgs(Args, gc=False):
    """A call of the runtime or driver API."""

    correlation: int | None = None


class OperatorArgs(CollectiveArgs, gc=False):
    """An operator; one that communicates says more."""

    dims: msgspec.Raw = msgspec.field(default=NOTHING, name="Input Dims")
    old_dims: msgspec.Raw = msgspec.field(default=NOTHING, name="Input dims")
    types: msgspec.Raw = msgspec.field(default=NOTHING, name="Input type")
    strides: msgspec.Raw = msgspec.field(default=NOTHING, name="Input Strides")
    concrete: msgspec.Raw = msgspec.field(default=NOTHING, name="Concrete Inputs")
    sequence: int | None = msgspec.field(default=None, name="Sequence number")
    record: int | None = msgspec.field(default=None, name="Record function id")


class PythonArgs(Args, gc=False):
    """A call of a Python function."""

    id: int | None = msgspec.field(default=None, name="Python id")
    parent: int | None = msgspec.field(default=None, name="Python parent id")


class RangeArgs(Args, gc=False):
    """A range that a record_function made."""

    finished: bool | None = None


class MemoryArgs(Args, gc=False):
    """An allocation or a release."""

    address: int | None = msgspec.field(default=None, name="Addr")
    bytes: int | None = msgspec.field(default=None, name="Bytes")
    allocated: int | None = msgspec.field(default=None, name="Total Allocated")
    reserved: int | None = msgspec.field(default=None, name="Total Reserved")
    device: int | None = msgspec.field(default=None, name="Device Id")
    device_type: int | None = msgspec.field(default=None, name="Device Type")


class NameArgs(Args, gc=False):
    """The name that a metadata event gives."""

    name: str | None = None
    labels: str | None = None


_A = TypeVar("_A", bound=Args)

_X = Literal["X"]
_INSTANT = Literal["i", "I"]
_END = Literal["s", "f"]
# What an event of a category is by rule: then its args are decoded along with it.
_BY_RULE: Mapping[str, tuple[object, type[Args]]] = {
    "cpu_op": (_X, OperatorArgs),
    "cuda_runtime": (_X, CallArgs),
    "cuda_driver": (_X, CallArgs),
    "overhead": (_X, CallArgs),
    "kernel": (_X, KernelArgs),
    "gpu_memcpy": (_X, CopyArgs),
    "gpu_memset": (_X, CopyArgs),
    "cuda_sync": (_X, SyncArgs),
    "cuda_event": (_X, SyncArgs),
    "python_function": (_X, PythonArgs),
    "user_annotation": (_X, RangeArgs),
    "gpu_user_annotation": (_X, Args),
    "cpu_instant_event": (_INSTANT, MemoryArgs),
    "ac2g": (_END, Args),
    "fwdbwd": (_END, Args),
}


def _by_rule(category: str, phase: object, args: type[Args]) -> type[msgspec.Struct]:
    """Return a struct with the fields of `Event`, told apart by its category."""
    own: list[tuple[str, Any, Any]] = [
        ("ph", phase, msgspec.NODEFAULT),
        ("name", str | None, None),
        ("pid", int | str | None, None),
        ("tid", int | str | None, None),
        ("ts", msgspec.Raw, NOTHING),
        ("dur", msgspec.Raw, NOTHING),
        ("args", args, msgspec.field(default_factory=args)),
        ("id", int | str | None, None),
    ]
    return msgspec.defstruct(
        category,
        own,
        namespace={"cat": category},
        tag_field="cat",
        tag=category,
        kw_only=True,
        gc=False,
    )


_RULES: Any = functools.reduce(
    operator.or_, (_by_rule(category, *rule) for category, rule in _BY_RULE.items())
)
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(list[_RULES])


def decode_by_rule(text: memoryview) -> list[Event]:
    """Decode a list of events with their args, in two thirds of the time.

    Raises:
        msgspec.ValidationError: One of them is not as its category is by rule.
    """
    events: list[Event] = _DECODER.decode(text)
    return events


@functools.cache
def _decoders(kind: type[Args]) -> tuple[Any, Any]:
    # strict=False: a number may come as text.
    return (
        msgspec.json.Decoder(list[kind], strict=False),  # type: ignore[valid-type]  # a type made at run time
        msgspec.json.Decoder(kind, strict=False),
    )


def decode_args(
    kind: type[_A], events: Sequence[Event], mended: Callable[[str], None]
) -> list[_A]:
    """Decode the args of events of one category.

    Those of `decode_by_rule` are decoded already. A value of the wrong type is left
    out; `mended` is called with the name of its field.
    """
    if events and isinstance(events[0].args, Args):
        return cast("list[_A]", [event.args for event in events])
    several, one = _decoders(kind)
    texts = [event.args or b"{}" for event in events]
    try:
        found: list[_A] = several.decode(b"[" + b",".join(texts) + b"]")
    except (msgspec.DecodeError, RecursionError):
        return [_decode_one(kind, one, bytes(text), mended) for text in texts]
    return found


def _decode_one(
    kind: type[_A],
    decoder: msgspec.json.Decoder[_A],
    text: bytes,
    mended: Callable[[str], None],
) -> _A:
    try:
        decoded: _A = decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    else:
        return decoded
    try:
        raw = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        mended("args")
        return kind()
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name in raw:
            try:
                values[field.name] = msgspec.json.decode(
                    raw[field.encode_name], type=field.type, strict=False
                )
            except (msgspec.DecodeError, RecursionError):
                mended(field.encode_name)
    return kind(**values)
