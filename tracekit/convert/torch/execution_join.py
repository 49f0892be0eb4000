"""Joins execution traces to the operators of the timelines they were taken with.

Both carry the id of the record function. It counts from 1 in every process, so the
name has to be the same too. Columns that the timeline lacks are filled in the form in
which Kineto writes them: a trace that was recorded without shapes gets them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from tracekit.convert.readers.base import Batch, CaptureLog

Write = Callable[[str, int, pa.RecordBatch], None]
_FILLED = (
    "input_shapes",
    "input_types",
    "input_strides",
    "concrete_inputs",
    "sequence",
)
_SCALARS = ("Int", "Double", "Bool", "ComplexDouble", "SymInt", "SymFloat", "SymBool")


@dataclass
class _Trace:
    log: CaptureLog
    rank: int | None
    name: str
    batches: list[pa.RecordBatch] = field(default_factory=list)
    nodes: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    joined: int = 0


class ExecutionTraces:
    """The execution traces of a run, held until the ranks are known.

    Args:
        timelines: How many captures with times are converted together.
    """

    def __init__(self, timelines: int) -> None:
        self._timelines = timelines
        self._traces: list[_Trace] = []

    def hold(self, log: CaptureLog, batch: Batch, name: str) -> None:
        """Take rows of `execution_node`, of rank -1 where the file does not say it."""
        if not self._traces or self._traces[-1].log is not log:
            rank = None if batch.rank < 0 else batch.rank
            self._traces.append(_Trace(log, rank, name))
        trace = self._traces[-1]
        trace.batches.append(batch.rows)
        if self._timelines:
            for row in batch.rows.to_pylist():
                if row["record_function_id"] is not None:
                    trace.nodes.setdefault(row["record_function_id"], row)

    def fill(self, rank: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of `operator` with what their nodes know and they do not."""
        trace = self._of(rank)
        if trace is None or not rows.num_rows:
            return rows
        ids = rows.column("record_function_id").to_pylist()
        names = rows.column("name").to_pylist()
        found: list[Mapping[str, Any] | None] = []
        for number, name in zip(ids, names, strict=True):
            node = None if number is None else trace.nodes.get(number)
            found.append(node if node is not None and node["name"] == name else None)
        trace.joined += sum(node is not None for node in found)
        known = [None if node is None else _as_kineto(node) for node in found]
        for column in _FILLED:
            index = rows.schema.get_field_index(column)
            values = rows.column(index).to_pylist()
            filled = [
                node[column] if value is None and node is not None else value
                for value, node in zip(values, known, strict=True)
            ]
            kind = pa.int64() if column == "sequence" else pa.string()
            array = pa.array(filled, kind)
            if pa.types.is_dictionary(rows.schema.field(index).type):
                array = array.dictionary_encode()
            rows = rows.set_column(index, column, array)
        return rows

    def release(self, ranks: list[int], write: Write) -> None:
        """Write the nodes, and say how many operators have one."""
        for trace in self._traces:
            rank = trace.rank
            if rank is None:
                rank = min(ranks)
            for rows in trace.batches:
                write("execution_node", rank, rows)
            if self._timelines and not trace.joined:
                trace.log.diagnose(
                    "warning",
                    f"no operator of a timeline belongs to {trace.name}: record both "
                    "at once, profile(execution_trace_observer=...), and give both "
                    "files their rank: rank-0",
                )

    def _of(self, rank: int) -> _Trace | None:
        for trace in self._traces:
            if trace.rank == rank or (trace.rank is None and self._timelines == 1):
                return trace
        return None


def _as_kineto(node: Mapping[str, Any]) -> dict[str, Any]:
    types = _list(node["input_types"])
    shapes, strides = _list(node["input_shapes"]), _list(node["input_strides"])
    values = _list(node["input_values"])
    if types is None:
        return dict.fromkeys(_FILLED) | {"sequence": node["sequence"]}
    kinds = [_kind(text) for text in types]
    return {
        "input_types": _json(kinds),
        "input_shapes": _of_tensors(kinds, shapes),
        "input_strides": _of_tensors(kinds, strides),
        "concrete_inputs": _concrete(kinds, values),
        "sequence": node["sequence"],
    }


def _kind(text: object) -> str:
    """Return a type of an execution trace as Kineto writes it."""
    if not isinstance(text, str):
        return ""
    inner = text.partition("(")[2].removesuffix(")")
    if text.startswith("Tensor("):
        return "" if inner.startswith("nullptr") else inner
    if text.startswith("GenericList["):
        return "TensorList" if "Tensor(" in text else "ScalarList"
    return "Scalar" if text in _SCALARS else ""


def _of_tensors(kinds: list[str], sizes: list[Any] | None) -> str | None:
    if sizes is None or len(sizes) != len(kinds):
        return None
    not_tensors = ("", "Scalar", "ScalarList")
    return _json(
        [
            [] if kind in not_tensors else size
            for kind, size in zip(kinds, sizes, strict=True)
        ]
    )


def _concrete(kinds: list[str], values: list[Any] | None) -> str | None:
    if values is None or len(values) != len(kinds):
        return None
    scalars = ("Scalar", "ScalarList")
    return _json(
        [
            str(value) if kind in scalars else ""
            for kind, value in zip(kinds, values, strict=True)
        ]
    )


def _list(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    found = msgspec.json.decode(text)
    return found if isinstance(found, list) else None


def _json(value: list[Any]) -> str:
    return msgspec.json.encode(value).decode()
