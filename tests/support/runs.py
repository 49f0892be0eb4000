"""Runs made from small tables of text."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.tables import rows_for
from tracekit.schema import HOST_RANK, TABLES, Scope
from tracekit.store.manifest import Manifest, Rank, Source, Window
from tracekit.store.run import Run, open_run
from tracekit.store.run_writer import RunWriter

RUN_ID = "20261201t000000z-test-00000000"
_GPU_TABLES = ("kernel", "memcpy", "memset", "graph_launch")


def make_run(
    place: Path,
    tables: Mapping[str, str],
    *,
    run_id: str = RUN_ID,
    ranks: Mapping[int, Mapping[str, str]] | None = None,
    absent: Mapping[str, str] | None = None,
) -> Run:
    """Write a run with the given rows.

    Args:
        place: The folder the run will be.
        tables: Rows of rank 0 (or of the host), by table; text as `tables.rows_for`
            reads it.
        run_id: Its identity.
        ranks: Rows of further ranks, by rank and table.
        absent: Why tables are empty.
    """
    by_rank = {0: tables, **(ranks or {})}
    spans: list[int] = []
    with RunWriter(place) as writer:
        for rank, rank_tables in by_rank.items():
            for name, text in rank_tables.items():
                schema = TABLES[name]
                rows = rows_for(schema.arrow, text)
                under = HOST_RANK if schema.scope is Scope.HOST else rank
                for batch in rows.to_batches():
                    writer.append(name, under, batch)
                if name in _GPU_TABLES:
                    spans += rows["start_ns"].to_pylist() + rows["end_ns"].to_pylist()
        parts = writer.close_tables()
        writer.publish(
            Manifest(
                tracekit_version="0",
                run_id=run_id,
                name="test",
                source=Source(format="test", files=[], sha256="0" * 64),
                ranks=[
                    Rank(rank=rank, origin_utc_ns=None, source="none")
                    for rank in by_rank
                ],
                window=Window(start_ns=min(spans), end_ns=max(spans))
                if spans
                else None,
                tables=parts,
                absent=dict(absent or {}),
            )
        )
    return open_run(place)
