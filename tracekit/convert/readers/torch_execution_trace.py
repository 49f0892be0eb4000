"""PyTorch: the execution trace (Chakra JSON) of `ExecutionTraceObserver`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.row_batches import RowBatches, signed64
from tracekit.convert.torch.nodes import (
    Node,
    attributes,
    find_nodes,
    read_nodes,
    value,
)
from tracekit.errors import UnreadableTraceError
from tracekit.schema import TABLES

_NO_TIMES = "an execution trace has no times: convert it together with a Kineto trace"
# `RecordScope` of ATen/record_function.h.
_SCOPES = (
    "function",
    "backward_function",
    "torchscript_function",
    "kernel_function_dtype",
    "custom_class",
    "build_feature",
    "lite_interpreter",
    "user_scope",
    "static_runtime_op",
    "static_runtime_model",
)
_SIDES = ("input", "output")
_PARTS = ("values", "shapes", "types", "strides")


class TorchExecutionTraceReader:
    """Reads execution traces of versions 1.0.0 to 1.1.x."""

    name: ClassVar[str] = "torch-execution-trace"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is JSON with a version and a list of nodes."""
        return capture.is_file() and find_nodes(capture) is not None

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield rows of `execution_node`; see `Reader.read`."""
        found = find_nodes(capture)
        if found is None:
            raise UnreadableTraceError(f"{reading.name} is no execution trace")
        header, begin = found
        log = reading.log
        log.has_timeline = False
        log.schema_version = header.version
        rank = rank_in_name(reading.name)
        batches = RowBatches(reading)
        for nodes in read_nodes(capture, begin, log):
            for node in nodes:
                row = _row(node)
                row["os_pid"] = header.os_pid
                # The converter knows the rank of the timeline that this belongs to.
                batches.add("execution_node", -1 if rank is None else rank, row)
            yield from batches.full()
        yield from batches.rest()
        for table in TABLES.keys() - {"execution_node"}:
            log.absent[table] = _NO_TIMES


def _row(node: Node) -> dict[str, Any]:
    found = attributes(node)
    sequence = _bits(found.get("seq_id"))
    scope = found.get("scope")
    row: dict[str, Any] = {
        "node_id": _bits(node.id),
        "parent_node_id": _bits(
            node.parent if node.ctrl_deps is None else node.ctrl_deps
        ),
        # 0 is how the trace writes that there is none.
        "forward_node_id": _bits(found.get("fw_parent")) or None,
        "record_function_id": _bits(found.get("rf_id")) or None,
        "sequence": None if sequence is None or sequence < 0 else sequence,
        "trace_thread_id": _bits(found.get("tid")),
        "forward_trace_thread_id": _bits(found.get("fw_tid")) or None,
        "name": node.name,
        "operator_schema": _text(found.get("op_schema")),
        "kernel_backend": _text(found.get("kernel_backend")),
        "kernel_file": _text(found.get("kernel_file")),
    }
    if isinstance(scope, int) and 0 <= scope < len(_SCOPES):
        row["record_scope"] = _SCOPES[scope]
    for side in _SIDES:
        parts = _parts(node, side)
        for part in _PARTS:
            row[f"{side}_{part}"] = _json(parts.get(part))
    return row


def _parts(node: Node, side: str) -> dict[str, Any]:
    """Return values, shapes, types and strides of the inputs or outputs."""
    whole = value(node.inputs if side == "input" else node.outputs)
    if isinstance(whole, dict):
        return whole
    return {
        "values": whole,
        "shapes": value(getattr(node, f"{side}_shapes")),
        "types": value(getattr(node, f"{side}_types")),
    }


def _json(found: object) -> str | None:
    if not isinstance(found, list):
        return None
    try:
        return msgspec.json.encode(found).decode()
    except (RecursionError, msgspec.EncodeError, UnicodeEncodeError):
        return None


def _bits(found: object) -> int | None:
    if type(found) is not int or not -(1 << 63) <= found < 1 << 64:
        return None
    return signed64(found)


def _text(found: object) -> str | None:
    return found if isinstance(found, str) and found else None
