"""Tells, before a module runs, what of that which it needs a run does not have."""

from tracekit.query.module import NOTHING, Membership, QueryModule
from tracekit.query.session import with_reads
from tracekit.query.window import all_tables
from tracekit.schema import TABLES
from tracekit.store.run import Run

# What a module is about; the other tables only say more of it.
_SUBJECTS = (Membership.ROWS, Membership.CLIP, Membership.WHOLE)


def missing(module: QueryModule, run: Run) -> str | None:
    """Return why the module has no answer on this run, or None."""
    if module.needs == (NOTHING,):
        return None
    if module.needs:
        lacking = [name for need in module.needs for name in _lacking(need, run)]
    else:
        subjects = [r.table for r in module.reads if r.membership in _SUBJECTS]
        wanted = sorted(with_reads(subjects) & TABLES.keys() or all_tables(module))
        lacking = [] if any(map(run.manifest.rows, wanted)) else wanted
    if not lacking:
        return None
    absent = run.manifest.absent
    because = next((absent[name] for name in lacking if name in absent), None)
    named = " or ".join(dict.fromkeys(lacking))
    reason = f"{module.name} needs {named}, which {run.run_id} has none of"
    return reason if because is None else f"{reason}: {because}"


def _lacking(need: str, run: Run) -> list[str]:
    """Return what a run has nothing of, if it has none of the alternatives."""
    lacking = []
    for one in need.split("|"):
        name, _, column = one.partition(".")
        tables = sorted(with_reads([name]) & TABLES.keys())
        if not any(map(run.manifest.rows, tables)):
            lacking += tables
        elif column and not _recorded(run, name, column):
            lacking.append(one)
        else:
            return []
    return lacking


def _recorded(run: Run, table: str, column: str) -> bool:
    """Tell whether any row has a value; a file that does not count NULLs may have."""
    import pyarrow.parquet as pq

    for file in run.files(table):
        parquet = pq.ParquetFile(file)
        if column not in parquet.schema_arrow.names:
            continue
        place = parquet.schema_arrow.names.index(column)
        for group in range(parquet.metadata.num_row_groups):
            chunk = parquet.metadata.row_group(group).column(place)
            known = chunk.statistics
            if known is None or not known.has_null_count:
                return True
            if known.null_count < chunk.num_values:
                return True
    return False
