"""Fills what a timeline does not tell of a GPU with what its counters tell."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

# What tells one GPU from another: never another's.
_IDENTITY = frozenset({"device_id", "host", "uuid", "bus", "cuda_ordinal"})


def filled(
    rows: pa.RecordBatch, counted: Sequence[Mapping[str, Any]]
) -> pa.RecordBatch:
    """Return rows of `device`, with what all counted GPUs of the name agree on.

    Args:
        rows: The rows of the timeline.
        counted: The rows of `device` of counter files.
    """
    if not counted:
        return rows
    found = []
    for row in rows.to_pylist():
        same = [one for one in counted if row["name"] in (None, one["name"])]
        for column in row.keys() - _IDENTITY:
            values = {one[column] for one in same}
            if row[column] is None and len(values) == 1:
                row[column] = values.pop()
        found.append(row)
    return pa.RecordBatch.from_pylist(found, schema=rows.schema)
