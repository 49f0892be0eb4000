"""An Nsight Systems export as a set of tables, whatever file holds them."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa

NO_VALUES: frozenset[int] = frozenset()

_SUFFIX = re.compile(r"(?P<name>.+)_V(?P<version>\d+)")


class Row(dict[str, Any]):
    """A row of a small table; a column that the export lacks is None.

    A cell may be text where a number is meant: `definitions` counts what does not fit.
    """

    def __init__(self, names: Iterable[str], cells: Iterable[object]) -> None:
        super().__init__(
            (name, _readable(cell)) for name, cell in zip(names, cells, strict=True)
        )

    def __missing__(self, column: str) -> None:
        return None


def _readable(cell: object) -> object:
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
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
