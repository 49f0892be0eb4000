"""Collects rows of `kernel_metric` launch by launch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from tracekit.convert.nsys.mapping import table_rows
from tracekit.convert.row_batches import fitted
from tracekit.schema import TABLES

_TABLE = TABLES["kernel_metric"]
_BATCH_ROWS = 65_536

Shape = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A kernel execution that was measured.

    Attributes:
        index: Its place in the order of the file; None for the sum of several.
        name: Its name as the tool wrote it.
        mangled_name: Its linker symbol, where the file has it.
        grid: Blocks in x, y, z.
        block: Threads of a block in x, y, z.
        process_id: Its process, where the file has the timeline too.
        device_id: Its GPU.
        correlation_id: That of its launch, where the file has the timeline too.
        passes: Replays that were needed.
        launches: Launches that the values are the mean of.
    """

    index: int | None
    name: str | None
    mangled_name: str | None = None
    grid: Shape | None = None
    block: Shape | None = None
    process_id: int | None = None
    device_id: int | None = None
    correlation_id: int | None = None
    passes: int | None = None
    launches: int | None = None


class Value(NamedTuple):
    """A metric of a launch."""

    metric: str
    unit: str | None
    value: float
    minimum: float | None = None
    maximum: float | None = None


class MetricRows:
    """Rows of one tool, given out in batches.

    Args:
        tool: Who measured.
    """

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._launches: list[Launch] = []
        # Which launch each row is of.
        self._of: list[int] = []
        self._values: list[Value] = []

    def add(self, launch: Launch, values: Iterable[Value]) -> None:
        """Add what was measured of one launch."""
        before = len(self._values)
        self._values.extend(values)
        self._of.extend([len(self._launches)] * (len(self._values) - before))
        self._launches.append(launch)

    @property
    def is_full(self) -> bool:
        """Whether it is time to take a batch."""
        return len(self._values) >= _BATCH_ROWS

    def take(self) -> pa.RecordBatch:
        """Return the rows so far, and forget them."""
        launches, values = self._launches, self._values
        of = pa.array(self._of, pa.int32())
        self._launches, self._values, self._of = [], [], []
        columns: dict[str, pa.Array] = {
            name: fitted(cells, kind).take(of)
            for name, kind, cells in _launch_columns(launches)
        }
        for name in ("kernel_name", "mangled_name"):
            columns[name] = columns[name].dictionary_encode()
        columns["metric"] = _text([value.metric for value in values])
        columns["unit"] = _text([value.unit for value in values])
        for place, name in ((2, "value"), (3, "minimum"), (4, "maximum")):
            columns[name] = pa.array([value[place] for value in values], pa.float64())
        columns["tool"] = _text([self._tool] * len(values))
        return table_rows(_TABLE, len(values), columns)


def _launch_columns(
    launches: list[Launch],
) -> Iterable[tuple[str, pa.DataType, list[object]]]:
    for name, attribute in (
        ("launch_index", "index"),
        ("kernel_name", "name"),
        ("mangled_name", "mangled_name"),
        ("process_id", "process_id"),
        ("device_id", "device_id"),
        ("correlation_id", "correlation_id"),
        ("passes", "passes"),
        ("launches", "launches"),
    ):
        cells = [getattr(launch, attribute) for launch in launches]
        yield name, _TABLE.arrow.field(name).type, cells
    for place, axis in enumerate("xyz"):
        grids = [None if a.grid is None else a.grid[place] for a in launches]
        blocks = [None if a.block is None else a.block[place] for a in launches]
        yield f"grid_{axis}", pa.int32(), list(grids)
        yield f"block_{axis}", pa.int32(), list(blocks)


def _text(cells: list[str | None] | list[str]) -> pa.Array:
    # Parquet takes no NULL inside a dictionary; in the indices it may be.
    return pa.array(cells, pa.string()).dictionary_encode()
