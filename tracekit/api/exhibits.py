"""Looks things up in the exhibits of a report."""

from collections.abc import Iterable, Mapping
from typing import Any

from tracekit.report.model import Exhibit

Row = dict[str, Any]


def rows_of(
    exhibits: Iterable[Exhibit],
    query: str,
    *,
    run_id: str,
    rank: int | None = None,
    parameters: Mapping[str, str] | None = None,
) -> list[Row]:
    """Return the rows of one run in the answer to a query; none where it is not there.

    Args:
        exhibits: The exhibits of a report.
        query: Name of the query.
        run_id: The run.
        rank: Its rank; None for all.
        parameters: Parameters that the answer must have been asked with.
    """
    for exhibit in exhibits:
        if exhibit.query != query:
            continue
        if parameters is not None and dict(exhibit.parameters) != dict(parameters):
            continue
        return [
            row
            for row in exhibit.table.to_pylist()
            if row.get("run_id", run_id) == run_id
            and (rank is None or row.get("rank", rank) == rank)
        ]
    return []
