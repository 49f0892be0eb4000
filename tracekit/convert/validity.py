"""Parts rows that no metric may count from the others."""

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.schema import TABLES, Table

# A range that was open when the capture ended has no end; so has a thread that was
# still on its core.
_MAY_BE_OPEN = frozenset({"annotation", "cpu_slice", "memory_segment"})
# Memory that an allocator held already when recording began.
_MAY_LACK_START = frozenset({"memory_segment"})
# An instant that the tool did not measure; the row says more than its time. Blocks
# that are alive in a snapshot without a history are memory events without a time.
_MAY_LACK_TIME = frozenset({"cuda_event", "diagnostic", "memory_event"})

# Made once: to make a scalar takes Arrow longer than to compare a column with it.
_ZERO = pa.scalar(0, pa.int64())
_NONE = pa.scalar(None, pa.string())
_NO_START = pa.scalar("no start was recorded")
_NO_END = pa.scalar("no end was recorded")
_NO_TIME = pa.scalar("no time was recorded")
_END_0 = pa.scalar("the end is 0")
_END_BEFORE_START = pa.scalar("the end is before the start")


def part(table: Table, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Return the valid rows, and the others as rows of `rejected`."""
    reasons = _reasons(table, rows)
    if reasons is None or reasons.null_count == len(reasons):
        return rows, pa.RecordBatch.from_pylist([], schema=TABLES["rejected"].arrow)
    bad = pc.is_valid(reasons)
    return rows.filter(pc.invert(bad)), _rejected(table, rows.filter(bad), reasons)


def _reasons(table: Table, rows: pa.RecordBatch) -> pa.Array | None:
    if table.is_interval:
        start, end = rows.column("start_ns"), rows.column("end_ns")
        return pc.case_when(
            pc.make_struct(
                pc.is_null(start),
                pc.fill_null(pc.equal(end, _ZERO), fill_value=False),
                pc.fill_null(pc.less(end, start), fill_value=False),
                pc.is_null(end),
            ),
            _NONE if table.name in _MAY_LACK_START else _NO_START,
            _END_0,
            _END_BEFORE_START,
            _NONE if table.name in _MAY_BE_OPEN else _NO_END,
            _NONE,
        )
    if table.time is not None and table.name not in _MAY_LACK_TIME:
        time = rows.column(table.time)
        return pc.if_else(pc.is_null(time), _NO_TIME, _NONE)
    return None


def _rejected(table: Table, rows: pa.RecordBatch, reasons: pa.Array) -> pa.RecordBatch:
    count = rows.num_rows

    def column(name: str, kind: pa.DataType) -> pa.Array:
        if name in rows.schema.names:
            return rows.column(name).cast(kind)
        return pa.nulls(count, kind)

    name = column("text" if table.name == "annotation" else "name", pa.string())
    return pa.RecordBatch.from_arrays(
        [
            pa.array([table.name] * count),
            reasons.drop_null(),
            column("start_ns", pa.int64()),
            column("end_ns", pa.int64()),
            name,
        ],
        schema=TABLES["rejected"].arrow,
    )
