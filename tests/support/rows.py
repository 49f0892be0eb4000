"""All rows of a run, to compare runs with each other and with hand-made rows."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.store.run import Run

Row = dict[str, Any]


def rows_of(run: Run, table: str) -> list[Row]:
    """Return the rows of a table, over all ranks."""
    tables = [pq.read_table(file) for file in run.files(table)]
    if not tables:
        return []
    rows: list[Row] = pa.concat_tables(tables).to_pylist()
    return rows


def all_rows(run: Run) -> dict[str, list[Row]]:
    """Return the rows of every table that has some."""
    return {table: rows_of(run, table) for table in sorted(run.manifest.tables)}


def recorded(row: Row) -> Row:
    """Return what is not NULL of a row."""
    return {name: value for name, value in row.items() if value is not None}
