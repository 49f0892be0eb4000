"""The JSON objects of a trace, as far as they are read.

Field names are those that Kineto writes in its `output_json.cpp`; what older
versions wrote otherwise stands beside it. `args` stays undecoded until its category
says what to look for.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

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


class GpuArgs(Args, gc=False):
    """Where work on a GPU ran."""

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


class OperatorArgs(Args, gc=False):
    """An operator."""

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
    sequence: int | None = msgspec.field(default=None, name="Seq")


class NameArgs(Args, gc=False):
    """The name that a metadata event gives."""

    name: str | None = None
    labels: str | None = None


_A = TypeVar("_A", bound=Args)


@cache
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

    A value of the wrong type is left out; `mended` is called with the name of its
    field.
    """
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
