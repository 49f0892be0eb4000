"""Small tables of text: rows in, rows out, on one screen.

    device_id, name,  start_ns, end_ns
    0,         gemm,        10,    100

Cells are parted by commas and stripped; an empty cell or `NULL` is NULL; text that
holds a comma or counts its spaces stands in double quotes.
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

_REAL_DIGITS = 3


def parse(text: str) -> list[dict[str, str | None]]:
    """Read a table of text; every cell is text or None."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    rows = list(csv.reader(lines, skipinitialspace=True))
    header = [name.strip() for name in rows[0]]
    parsed = []
    for row in rows[1:]:
        assert len(row) == len(header), f"{row} has not {len(header)} cells"
        cells = (cell.strip() for cell in row)
        parsed.append(
            {
                name: None if cell in ("", "NULL") else cell
                for name, cell in zip(header, cells, strict=True)
            }
        )
    return parsed


def rows_for(schema: pa.Schema, text: str) -> pa.Table:
    """Read a table of text as rows of a schema; columns left out are NULL."""
    rows = parse(text)
    for row in rows:
        unknown = row.keys() - set(schema.names)
        assert not unknown, f"there is no column {sorted(unknown)}"
    columns = [
        pa.array([_typed(row.get(field.name), field.type) for row in rows], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def table(text: str) -> list[Row]:
    """Read the rows that are expected; numbers become numbers."""
    return [{name: _guessed(cell) for name, cell in row.items()} for row in parse(text)]


def rounded(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return rows with real numbers rounded, as tables of text write them."""
    return [{name: _round(value) for name, value in row.items()} for row in rows]


def only(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[Row]:
    """Return some columns of the rows."""
    wanted = list(names)
    return [{name: row[name] for name in wanted} for row in rows]


def _typed(cell: str | None, kind: pa.DataType) -> object:
    if cell is None:
        return None
    if pa.types.is_boolean(kind):
        return cell == "true"
    if pa.types.is_integer(kind):
        return int(cell)
    if pa.types.is_floating(kind):
        return float(cell)
    return cell


def _guessed(cell: str | None) -> object:
    if cell is None:
        return None
    if cell in ("true", "false"):
        return cell == "true"
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _round(value: object) -> object:
    if isinstance(value, float) and math.isfinite(value):
        return round(value, _REAL_DIGITS)
    return value
