"""SQL text of the views that show the Parquet files of a run as tables.

pyarrow.parquet is imported where it is needed: most queries do without it, and it takes
a twentieth of a second to load.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tracekit.schema import HOST_RANK, VERSION, Table
from tracekit.store.run import Run


def literal(text: str) -> str:
    """Return `text` as a SQL string."""
    return "'" + text.replace("'", "''") + "'"


def select_rows(run: Run, table: Table, ranks: Sequence[int], extra: str = "") -> str:
    """Return a SELECT over the rows of `table` under `ranks` and the host.

    Columns that the run does not have are NULL: a file of an older minor version of
    the schema lacks them. Times are moved by the rank's clock offset.

    Args:
        run: The run.
        table: The table.
        ranks: The ranks.
        extra: Further columns, where `{rank}` stands for the rank of a file.
    """
    wanted = {*ranks, HOST_RANK}
    selects = []
    offsets = _offsets(run)
    for part in run.manifest.tables.get(table.name, ()):
        if part.rank in wanted:
            file = run.files(table.name, (part.rank,))
            path = next(f for f in file if f.parent.name == f"rank={part.rank}")
            present = _present(run, table, path)
            columns = _columns(table, present, offsets.get(part.rank, 0))
            columns += extra.format(rank=part.rank)
            selects.append(
                f"SELECT {columns} FROM read_parquet({literal(no_glob(str(path)))},"
                " hive_partitioning = false)"
            )
    if not selects:
        columns = _columns(table, frozenset(), 0) + extra.format(rank=HOST_RANK)
        return f"SELECT {columns} WHERE false"
    return " UNION ALL ".join(selects)


def _present(run: Run, table: Table, file: Path) -> frozenset[str]:
    if run.manifest.schema_version == VERSION:
        return table.column_names
    import pyarrow.parquet as pq

    return frozenset(pq.read_schema(file).names)


def _columns(table: Table, present: Iterable[str], offset_ns: int) -> str:
    names = []
    for column in table.columns:
        if column.name not in present:
            names.append(f"NULL::{column.type.value} AS {column.name}")
        elif offset_ns and column.name in ("start_ns", "end_ns", "time_ns"):
            names.append(f"{column.name} + {offset_ns} AS {column.name}")
        else:
            names.append(column.name)
    return ", ".join(names)


def _offsets(run: Run) -> dict[int, int]:
    """Return the clock offset of each rank; one rank alone has none."""
    if len(run.ranks) < 2:
        return {}
    import pyarrow.parquet as pq

    offsets = {}
    for rank in run.ranks:
        for file in run.files("clock", (rank,)):
            clock = pq.read_table(file, columns=["offset_ns"])
            for offset in clock["offset_ns"].to_pylist():
                offsets[rank] = offset or 0
    return offsets


def no_glob(path: str) -> str:
    """Return the path with the characters of a pattern made plain."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)
