"""Rows of a run, as plain values."""

from typing import Any

import pyarrow.parquet as pq

from tracekit.store.run import Run


def rows(run: Run, table: str, *names: str) -> list[tuple[Any, ...]]:
    """Return some columns of the rows of a table, rank by rank, in file order."""
    found: list[tuple[Any, ...]] = []
    for file in run.files(table):
        part = pq.read_table(file, columns=list(names)).to_pylist()
        found += [tuple(row[name] for name in names) for row in part]
    return found


def rows_of_run(run: Run, table: str) -> list[dict[str, Any]]:
    """Return all rows of a table of a run, rank by rank."""
    return [row for file in run.files(table) for row in pq.read_table(file).to_pylist()]


def all_rows(run: Run) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every table that has some."""
    return {table: rows_of_run(run, table) for table in sorted(run.manifest.tables)}
