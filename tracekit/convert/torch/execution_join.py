"""Joins execution traces to the operators of the timelines they were taken with.

Both carry the id of the record function. It counts from 1 in every process, so the
name has to be the same too. Columns that the timeline lacks are filled in the form in
which Kineto writes them: a trace that was recorded without shapes gets them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts
from tracekit.store.run_writer import RunWriter

Write = Callable[[str, int, pa.RecordBatch], None]
Redact = Callable[[str, pa.RecordBatch], pa.RecordBatch]
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


class ExecutionTraces:
    """The execution traces of a run, held until its timelines are read."""

    def __init__(self) -> None:
        self._traces: list[_Trace] = []

    def hold(self, log: CaptureLog, batch: Batch, name: str) -> None:
        """Take rows of `execution_node`, of rank -1 where the file does not say it."""
        if not self._traces or self._traces[-1].log is not log:
            rank = None if batch.rank < 0 else batch.rank
            self._traces.append(_Trace(log, rank, name))
        self._traces[-1].batches.append(batch.rows)

    def claim(self, ranks: dict[int, RankFacts]) -> None:
        """Add the ranks that only names of execution traces tell."""
        for trace in self._traces:
            if trace.rank is not None:
                ranks.setdefault(trace.rank, RankFacts("name"))

    def release(
        self, ranks: Collection[int], writer: RunWriter, redact: Redact, write: Write
    ) -> None:
        """Write the nodes, and fill the operators that belong to them.

        Args:
            ranks: The ranks of the run.
            writer: Has the operators of the timelines.
            redact: Takes out of rows of a table what may not be written.
            write: Takes table, rank and rows.
        """
        if not self._traces:
            return
        with_operators = writer.complete("operator")
        for trace in self._traces:
            rank = trace.rank
            if rank is None:
                one = with_operators if len(with_operators) == 1 else ranks
                rank = min(one)
            if rank in with_operators:
                join = _Join(trace.batches, redact)
                writer.rewrite("operator", rank, join.fill)
                _tell(trace, join)
            elif with_operators:
                trace.log.diagnose(
                    "warning",
                    f"{trace.name} is of rank {rank}, which has no operators: rename "
                    "it so that it holds the rank of its timeline: rank-0",
                )
            for rows in trace.batches:
                write("execution_node", rank, rows)


class _Join:
    def __init__(self, batches: Sequence[pa.RecordBatch], redact: Redact) -> None:
        self._redact = redact
        self.joined = self.operators = 0
        self._nodes: dict[int, Mapping[str, Any]] = {}
        for rows in batches:
            for row in rows.to_pylist():
                if row["record_function_id"] is not None:
                    self._nodes.setdefault(row["record_function_id"], row)

    def fill(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of `operator` with what their nodes know and they do not."""
        ids = rows.column("record_function_id").to_pylist()
        names = rows.column("name").to_pylist()
        known: list[Mapping[str, Any] | None] = []
        for number, name in zip(ids, names, strict=True):
            node = None if number is None else self._nodes.get(number)
            is_same = node is not None and node["name"] == name
            known.append(_as_kineto(node) if node is not None and is_same else None)
        self.operators += rows.num_rows
        self.joined += sum(node is not None for node in known)
        for column in _FILLED:
            index = rows.schema.get_field_index(column)
            filled = [
                node[column] if value is None and node is not None else value
                for value, node in zip(
                    rows.column(index).to_pylist(), known, strict=True
                )
            ]
            array = pa.array(filled, rows.schema.field(index).type)
            rows = rows.set_column(index, rows.schema.field(index), array)
        return self._redact("operator", rows).cast(rows.schema)


def _tell(trace: _Trace, join: _Join) -> None:
    if join.joined:
        text = (
            f"{join.joined} of {join.operators} operators have a node in {trace.name}"
        )
        trace.log.diagnose("info", text)
        return
    trace.log.diagnose(
        "warning",
        f"no operator belongs to {trace.name}: record both at once, with "
        "profile(execution_trace_observer=...)",
    )


def _as_kineto(node: Mapping[str, Any]) -> dict[str, Any]:
    types = _list(node["input_types"])
    shapes, strides = _list(node["input_shapes"]), _list(node["input_strides"])
    values = _list(node["input_values"])
    if not types:
        # Without inputs Kineto writes none of them either.
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
