"""A result as CSV, JSON, Markdown or Parquet.

What one format needs alone is imported there: pyarrow's compute functions take a tenth
of a second to load.
"""

import csv
import io
import math
from typing import IO

import msgspec
import pyarrow as pa
import pyarrow.csv

from tracekit.report.cells import cell, visible

_BLOCK_ROWS = 65_536
_FORMULA = r"^[=+\-@\t\r\n]"
# A sum of BIGINT is a decimal number without decimals.
_JSON = msgspec.json.Encoder(decimal_format="number")


def write_csv(table: pa.Table, target: IO[bytes]) -> None:
    """Write a header row and the rows; NULL is an empty cell, "" an empty text."""
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(table.column_names)
    target.write(header.getvalue().encode())
    for index, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            # Lists, structs and maps have no form of their own in CSV.
            texts = [
                None if value is None else msgspec.json.encode(value).decode()
                for value in table.column(index).to_pylist()
            ]
            table = table.set_column(index, field.name, pa.array(texts, pa.string()))
    options = pa.csv.WriteOptions(include_header=False, quoting_style="needed")
    pa.csv.write_csv(table, target, options)


def for_spreadsheet(table: pa.Table) -> pa.Table:
    """Return the table with text that a spreadsheet would run made plain."""
    import pyarrow.compute as pc

    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = table.column(index)
            quoted = pc.binary_join_element_wise("'", column, "")
            danger = pc.match_substring_regex(column, _FORMULA)
            table = table.set_column(
                index, field.name, pc.if_else(danger, quoted, column)
            )
    return table


def write_json(table: pa.Table, target: IO[bytes]) -> None:
    """Write one array of objects; NULL and NaN are null."""
    target.write(b"[")
    first = True
    for batch in table.to_batches(_BLOCK_ROWS):
        for row in batch.to_pylist():
            target.write(b"\n" if first else b",\n")
            first = False
            target.write(_JSON.encode({k: _finite(v) for k, v in row.items()}))
    target.write(b"]\n" if first else b"\n]\n")


def write_markdown(table: pa.Table, target: IO[bytes]) -> None:
    """Write a table of GitHub's Markdown; names are shown whole."""
    numeric = [
        pa.types.is_integer(field.type)
        or pa.types.is_floating(field.type)
        or pa.types.is_decimal(field.type)
        for field in table.schema
    ]
    lines = [
        "| " + " | ".join(escaped(visible(name)) for name in table.column_names) + " |",
        "|" + "|".join(" ---: " if right else " --- " for right in numeric) + "|",
    ]
    for row in table.to_pylist():
        cells = (escaped(cell(value)) for value in row.values())
        lines.append("| " + " | ".join(cells) + " |")
    target.write(("\n".join(lines) + "\n").encode())


def write_parquet(table: pa.Table, target: IO[bytes]) -> None:
    """Write a Parquet file."""
    import pyarrow.parquet as pq

    pq.write_table(table, target, compression="zstd")


def finite_rows(table: pa.Table) -> list[dict[str, object]]:
    """Return the rows as JSON has them: NaN is null."""
    return [{k: _finite(v) for k, v in row.items()} for row in table.to_pylist()]


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def escaped(text: str) -> str:
    """Return text that Markdown takes for no markup."""
    for character in "\\|<>*_`[]":
        text = text.replace(character, "\\" + character)
    return text
