"""An Nsight Systems export as a set of tables, whatever file holds them."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa

NO_VALUES: frozenset[int] = frozenset()

_SUFFIX = re.compile(r"(?P<name>.+)_V(?P<version>\d+)")


_WHOLE_COLUMNS = """
    category contextId cudaId deviceId domainId end eventType flag flags globalId
    globalPid globalTid globalVid gpuId hwId id idx metricId metricsIdx metricsListId
    nameId nicId nullStreamId offset parentContextId pid portId priority processId rank
    schemaId severity size sourceId start streamId textId timestamp type typeId
    utcEpochNs vmId
"""
_WHOLE = frozenset(_WHOLE_COLUMNS.split())
_TEXT = frozenset(
    ["busLocation", "chipName", "data", "metricName", "name", "text", "unit", "uuid"]
)
_WORD = 1 << 64


class Row(dict[str, Any]):
    """A row of a small table; a column that the export lacks is None.

    So is a cell that is no whole number, or no text, where one is meant.
    """

    def __init__(self, names: Iterable[str], cells: Iterable[object]) -> None:
        super().__init__(
            (name, _fitting(name, cell))
            for name, cell in zip(names, cells, strict=True)
        )

    def __missing__(self, column: str) -> None:
        return None


def _fitting(name: str, cell: object) -> object:
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    if name in _WHOLE:
        if type(cell) is not int:
            return None
        return cell if cell < _WORD // 2 else cell - _WORD
    if name in _TEXT:
        return cell if isinstance(cell, str) else None
    return cell if isinstance(cell, str | int | float) else None


class Export(Protocol):
    """The tables of an export.

    A cell that does not fit the type it is wanted as comes as NULL and is counted as
    repaired. Unsigned integers keep their bits.
    """

    def tables(self) -> Iterable[str]:
        """Return the names of the tables that exist."""
        ...

    def columns(self, table: str) -> frozenset[str]:
        """Return the columns of `table`; none if it does not exist."""
        ...

    def count(self, table: str) -> int:
        """Return the number of rows of `table`."""
        ...

    def batches(self, table: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the columns `wanted` of `table` in the order of the export.

        They exist, and each is int64, float64, string or binary.
        """
        ...

    def rows(
        self, table: str, column: str | None = None, values: frozenset[int] = NO_VALUES
    ) -> Iterator[Row]:
        """Yield rows one by one, text made valid, NULL as None.

        For small tables, or the few rows in which `column` has one of `values`.
        """
        ...


def resolve(export: Export, table: str) -> str:
    """Return the name under which `export` holds `table`.

    Some exports carry a version suffix (`NVTX_EVENTS_V3`); the highest one wins.
    `MEMCPY2` and the like are other tables, not versions.
    """
    found = table
    newest = 0
    for name in export.tables():
        match = _SUFFIX.fullmatch(name)
        if match and match["name"] == table and int(match["version"]) > newest:
            newest = int(match["version"])
            found = name
    names = set(export.tables())
    return table if table in names and not newest else found
