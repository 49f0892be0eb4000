"""Rows of a run, as Python objects."""

from typing import Any

import pyarrow.parquet as pq

from tracekit.store.run import Run


def rows_of_run(run: Run, table: str) -> list[dict[str, Any]]:
    """Return all rows of a table of a run, rank by rank."""
    return [row for file in run.files(table) for row in pq.read_table(file).to_pylist()]
