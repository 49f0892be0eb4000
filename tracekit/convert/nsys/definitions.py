"""The small tables of an export, row by row: each cell of its type, or NULL.

An export that was edited, cut or made by another tool may lack a column, or hold text
where a number belongs. Such a cell says nothing, and is counted as repaired.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from tracekit.convert.nsys.export import NO_VALUES, Export
from tracekit.convert.readers.base import CaptureLog

_INT64_LIMIT = 2**63


def definitions(
    export: Export,
    table: str,
    log: CaptureLog,
    *,
    integers: str = "",
    texts: str = "",
    reals: str = "",
    where: tuple[str, frozenset[int]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table; a column that the export lacks is NULL.

    Args:
        export: The export.
        table: The table; without it there are no rows.
        log: Counts the cells that are not of their type.
        integers: Names of the columns of numbers that are wanted.
        texts: Names of the columns of text that are wanted.
        reals: Names of the columns of numbers that need not be whole.
        where: A column and the values of it for which rows are wanted.
    """
    kinds: dict[str, tuple[type, ...]] = {
        **dict.fromkeys(integers.split(), (int,)),
        **dict.fromkeys(texts.split(), (str,)),
        **dict.fromkeys(reals.split(), (int, float)),
    }
    column, values = where or (None, NO_VALUES)
    for row in export.rows(table, column, values):
        fitting = {}
        for name, kind in kinds.items():
            cell = row.get(name)
            if isinstance(cell, float) and kind == (int,) and _is_whole(cell):
                cell = int(cell)
            if cell is not None and not isinstance(cell, kind):
                what = "no text" if kind == (str,) else "no number"
                log.repair(f"{table}.{name}", what)
                cell = None
            fitting[name] = cell
        yield fitting


def described_name(text: str) -> str | None:
    """Return the name in a JSON description, as exports until 2022 write it."""
    try:
        described = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    inner = described.get("data", described)
    found = inner.get("Name") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else None


def _is_whole(number: float) -> bool:
    return number.is_integer() and abs(number) < _INT64_LIMIT
