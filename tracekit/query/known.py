"""Checks that the devices, ranks and processes that were asked for are there."""

from collections.abc import Iterable, Sequence

from tracekit.errors import QueryError
from tracekit.query.scope import Scope
from tracekit.schema import TABLES
from tracekit.store.run import Run

_MOST = 16


def check_distinct(runs: Sequence[Run]) -> None:
    """Refuse a run that is given twice: all that it has would count double.

    Raises:
        QueryError: Naming it.
    """
    seen: dict[str, Run] = {}
    for run in runs:
        if run.run_id in seen:
            first = seen[run.run_id].path
            places = "" if first == run.path else f", as {first} and as {run.path}"
            raise QueryError(
                f"the run {run.run_id} is given twice{places}",
                hint="name each run once: twice, all that it has counts double",
            )
        seen[run.run_id] = run


def check_known(runs: Sequence[Run], scope: Scope) -> None:
    """Refuse what no run has: an answer without rows would look like a finding.

    Raises:
        QueryError: Naming what there is.
    """
    if scope.ranks is not None:
        there = (rank for run in runs for rank in run.ranks)
        _check("rank", "ranks", scope.ranks, there)
    if scope.devices is not None:
        _check("device", "devices", scope.devices, _recorded(runs, "device_id"))
    if scope.processes is not None:
        _check("process", "processes", scope.processes, _recorded(runs, "process_id"))


def _check(one: str, many: str, asked: Sequence[int], known: Iterable[int]) -> None:
    there = sorted(set(known))
    unknown = [number for number in asked if number not in there]
    if not unknown:
        return
    named = ", ".join(map(str, there[:_MOST])) + (", ..." if there[_MOST:] else "")
    raise QueryError(
        f"there is no {one} {unknown[0]}",
        hint=f"the {many} are {named}" if there else f"no {one} was recorded",
    )


def _recorded(runs: Sequence[Run], column: str) -> set[int]:
    """Return the ids in any table: a device without work has a row in one alone."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    found: set[int] = set()
    for run in runs:
        for name, table in TABLES.items():
            if column in table.column_names and run.manifest.rows(name):
                for file in run.files(name):
                    if column not in pq.read_schema(file).names:
                        continue
                    ids = pq.read_table(file, columns=[column])[column]
                    found.update(pc.unique(ids).drop_null().to_pylist())
    return found
