"""Links between events: forward to backward, launch to work on a GPU.

The two ends of a link are separate events, far apart and in either order. They are
put aside on the disk and joined at the end, a share of the ids at a time, so that
memory stays bounded.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.kineto.columns import batch, integers
from tracekit.convert.kineto.context import Context
from tracekit.convert.kineto.events import Event
from tracekit.convert.kineto.identity import PROFILED, Id, Identity, as_integer
from tracekit.convert.readers.base import Batch

_SHARE = 200_000
_KINDS = ("forward_backward", "launch")
_ENDS = pa.schema(
    [
        ("kind", pa.int8()),
        ("id", pa.int64()),
        ("process_id", pa.int32()),
        ("thread_id", pa.int32()),
        ("ns", pa.int64()),
    ]
)


class Flows:
    """The ends of links, put aside until both are known.

    Args:
        scratch: A folder for them.
    """

    def __init__(self, scratch: Path) -> None:
        self._files = {phase: scratch / f"flows-{phase}.arrow" for phase in ("s", "f")}
        self._writers: dict[str, Any] = {}
        self._counts = {"s": 0, "f": 0}
        self._bounds: list[int | None] = []

    def add(self, phase: str, events: Sequence[Event], context: Context) -> None:
        """Put the starts (`s`) or the finishes (`f`) of links aside."""
        kinds, places = _Kinds(), _Places(context.identity)
        found = [places[event.pid, event.tid] for event in events]
        rows = pa.RecordBatch.from_arrays(
            [
                integers([kinds[event.cat] for event in events], pa.int8()),
                _flow_ids([event.id for event in events]),
                integers([process for process, _ in found], pa.int32()),
                integers([thread for _, thread in found], pa.int32()),
                context.times([event.ts for event in events]),
            ],
            schema=_ENDS,
        )
        bounds = pc.min_max(rows.column("id"))
        self._bounds += [bounds["min"].as_py(), bounds["max"].as_py()]
        writer = self._writers.get(phase)
        if writer is None:
            writer = self._writers[phase] = pa.ipc.new_stream(
                str(self._files[phase]), _ENDS
            )
        writer.write_batch(rows)
        self._counts[phase] += len(events)

    def close(self) -> None:
        """Close and remove what was put aside."""
        for phase, writer in self._writers.items():
            writer.close()
            self._files[phase].unlink(missing_ok=True)
        self._writers = {}

    def links(self, context: Context) -> Iterator[Batch]:
        """Yield the links of which both ends were there."""
        for writer in self._writers.values():
            writer.close()
        # What decoding left free is not held beside what the joins need.
        pa.default_memory_pool().release_unused()
        if len(self._writers) == 2:
            for low, high in self._shares():
                yield from self._joined(low, high, context)
        for phase in self._writers:
            self._files[phase].unlink(missing_ok=True)
        self._writers = {}

    def _shares(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of ids, which rise with time, so that links come in order."""
        known = [bound for bound in self._bounds if bound is not None]
        if not known:
            return
        shares = sum(self._counts.values()) // _SHARE + 1
        first, last = min(known), max(known)
        width = (last - first) // shares + 1
        for share in range(shares):
            low = first + share * width
            if low <= last:
                yield low, min(last, low + width - 1)

    def _joined(self, low: int, high: int, context: Context) -> Iterator[Batch]:
        starts = self._read("s", low, high)
        finishes = self._read("f", low, high).rename_columns(
            ["kind", "id", "end_process_id", "end_thread_id", "end_ns"]
        )
        # A call that launches nothing is the finish of a link that never starts.
        joined = starts.join(
            finishes, ["kind", "id"], join_type="inner", use_threads=False
        )
        if not joined.num_rows:
            return
        rows = joined.combine_chunks()
        column = {name: _one(rows.column(name)) for name in rows.schema.names}
        kinds = pa.DictionaryArray.from_arrays(
            column["kind"].cast(pa.int32()), pa.array(_KINDS)
        )
        yield batch(
            "flow",
            context.rank,
            rows.num_rows,
            {
                "flow_id": column["id"],
                "kind": kinds,
                "process_id": column["process_id"],
                "thread_id": column["thread_id"],
                "start_ns": column["ns"],
                "end_process_id": column["end_process_id"],
                "end_thread_id": column["end_thread_id"],
                "end_ns": column["end_ns"],
            },
        )

    def _read(self, phase: str, low: int, high: int) -> pa.Table:
        """Return the ends whose id is from `low` to `high`."""
        kept = []
        least, most = pa.scalar(low, pa.int64()), pa.scalar(high, pa.int64())
        with (
            pa.OSFile(str(self._files[phase])) as file,
            pa.ipc.open_stream(file) as rows,
        ):
            for found in rows:
                ids = found.column("id")
                mask = pc.and_(pc.greater_equal(ids, least), pc.less_equal(ids, most))
                kept.append(found.filter(mask.fill_null(fill_value=False)))
        return pa.Table.from_batches(kept, schema=_ENDS)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return (
        column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    )


class _Kinds(dict[str | None, int]):
    """The number of the kind that a category is of."""

    def __missing__(self, category: str | None) -> int:
        name = (category or "").lower()
        kind = self[category] = 0 if "fwd" in name or "forward" in name else 1
        return kind


class _Places(dict[tuple[Id, Id], tuple[int, int | None]]):
    """Process and thread of an end.

    The end on a GPU has the device as pid and the stream as tid.
    """

    def __init__(self, identity: Identity) -> None:
        super().__init__()
        self._identity = identity

    def __missing__(self, place: tuple[Id, Id]) -> tuple[int, int | None]:
        pid, tid = place
        found: tuple[int, int | None] = (PROFILED, None)
        if self._identity.is_host(pid):
            found = self._identity.process(pid), self._identity.thread(pid, tid)
        self[place] = found
        return found


def _flow_ids(values: Sequence[Id]) -> pa.Array:
    if str in set(map(type, values)):
        return integers([as_integer(value) for value in values])
    return integers(cast("Sequence[int | None]", values))
