"""Communication operations, from the args of their operators and kernels."""

import re
from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

from tracekit.convert.distinct import map_distinct
from tracekit.convert.kineto.columns import batch, integers, repeated, words
from tracekit.convert.kineto.context import Context
from tracekit.convert.kineto.events import CollectiveArgs, Event, GpuArgs
from tracekit.convert.readers.base import Batch

OPERATOR = "record_param_comms"

_KERNEL = re.compile(r"nccl|rccl", re.IGNORECASE)
_IN_KERNEL = re.compile(
    r"(?i)[nr]ccl(?:Dev)?Kernel(?:_|s_)?"
    r"(AllReduce|AllGather|ReduceScatter|AllToAll(?:v)?|SendRecv|Broadcast|Reduce)"
)
_REDUCTION = re.compile(
    r"(?i)_(Sum|Prod|Min|Max|MinMax|PreMulSum|SumPostDiv)(?=_|\(|$)"
)
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
# As c10d writes its operations, each in several spellings.
_OPERATIONS = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "allgather": "all_gather",
    "_allgather_base": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather",
    "allgather_coalesced": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "_reduce_oop": "reduce",
    "_broadcast_oop": "broadcast",
    "all_to_allv": "all_to_all",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "all_to_all_single": "all_to_all",
}
_BYTES = {
    "byte": 1,
    "char": 1,
    "bool": 1,
    "short": 2,
    "half": 2,
    "bfloat16": 2,
    "int": 4,
    "float": 4,
    "long": 8,
    "double": 8,
    "complexfloat": 8,
    "complexdouble": 16,
}


def is_collective(name: str) -> bool:
    """Tell whether a kernel communicates: `nccl` or `rccl` in its name."""
    return _KERNEL.search(name) is not None


def operation(name: str) -> str:
    """Return `all_reduce` for `allreduce`, and likewise for the others."""
    lower = name.lower()
    return _OPERATIONS.get(lower, lower)


def element_bytes(dtype: str) -> int | None:
    """Return the size of an element of a type as c10 names it."""
    lower = dtype.lower()
    return 1 if lower.startswith("float8") else _BYTES.get(lower)


def message_bytes(args: CollectiveArgs) -> int | None:
    """Return the size of the message.

    That is the larger of what goes in and what comes out, as nccl-tests counts it:
    what an all-gather gives and what a reduce-scatter takes.
    """
    size = element_bytes(args.dtype or "")
    counts = [n for n in (args.sent, args.received) if n is not None and n >= 0]
    return None if size is None or not counts else max(counts) * size


def group_ranks(raw: msgspec.Raw) -> str | None:
    """Return the ranks as JSON, or None where the trace shortened the list."""
    try:
        value = msgspec.json.decode(raw) if raw else None
        if isinstance(value, str):
            value = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return None
    return msgspec.json.encode(value).decode() if isinstance(value, list) else None


def _group(args: CollectiveArgs) -> str | None:
    for raw in (args.group, args.group_id):
        if raw:
            text = bytes(raw).decode("utf-8", "replace").strip('"')
            if text and text != "null":
                return text
    return None


def _described(
    args: Sequence[CollectiveArgs], names: Sequence[str | None]
) -> dict[str, pa.Array]:
    """Return the columns that args fill, else the name of the kernel."""
    found = [_in_kernel(name or "") for name in names]
    return {
        "operation": words(
            [
                operation(arg.operation) if arg.operation else said
                for arg, said in zip(args, found, strict=True)
            ]
        ),
        "reduction": words([_reduction(name or "") for name in names]),
        "communicator": words([_group(arg) for arg in args]),
        "bytes": integers([message_bytes(arg) for arg in args]),
        "data_type": words([arg.dtype.lower() if arg.dtype else None for arg in args]),
        "group_size": integers([arg.size for arg in args], pa.int32()),
        "ranks": words([group_ranks(arg.ranks) for arg in args]),
        "sequence": integers([arg.order for arg in args]),
    }


def _in_kernel(name: str) -> str | None:
    match = _IN_KERNEL.search(name)
    return _CAPITAL.sub("_", match[1]).lower() if match else None


def _reduction(name: str) -> str | None:
    # A kernel that reduces nothing is named Sum all the same.
    match = _REDUCTION.search(name)
    reduces = "reduce" in (_in_kernel(name) or "")
    return match[1].lower() if match and reduces else None


def of_kernels(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield the communication among kernels."""
    names = words([event.name or "" for event in events])
    mask = map_distinct(names, is_collective, pa.bool_())
    if not mask.true_count:
        return
    chosen = [
        event for event, wanted in zip(events, mask.to_pylist(), strict=True) if wanted
    ]
    columns = context.identity.gpu(chosen, context.args(GpuArgs, chosen))
    del columns["context_id"]
    yield batch(
        "collective",
        context.rank,
        len(chosen),
        {
            **columns,
            **context.interval(chosen),
            **_described(
                context.args(CollectiveArgs, chosen), [event.name for event in chosen]
            ),
            "source": repeated("kernel", len(chosen), pa.string()),
        },
    )


def of_operators(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield the operations that operators of the host asked for."""
    chosen = [event for event in events if event.name == OPERATOR]
    if not chosen:
        return
    args = context.args(CollectiveArgs, chosen)
    yield batch(
        "collective",
        context.rank,
        len(chosen),
        {
            **context.identity.host(chosen),
            **context.interval(chosen),
            **_described(args, [None] * len(chosen)),
            "source": repeated("operator", len(chosen), pa.string()),
        },
    )
