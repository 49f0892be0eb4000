"""`tracekit export`: a run for other tools."""

from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from tracekit.cli.opening import open_runs
from tracekit.cli.options import MemoryLimit, Quiet, Verbose
from tracekit.cli.output import note
from tracekit.errors import OutputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracekit.query import Limits
    from tracekit.store.run import Run


class Target(StrEnum):
    """What a run is written as."""

    PERFETTO = "perfetto"
    CHROME = "chrome"
    CSV = "csv"
    PARQUET = "parquet"


_SUFFIX = {Target.PERFETTO: "pftrace", Target.CHROME: "trace.json"}


def export(
    place: Annotated[
        Path,
        typer.Argument(readable=False, metavar="RUN", help="A run or a raw capture."),
    ],
    to: Annotated[
        Target,
        typer.Option(
            "--to",
            help="perfetto and chrome: a trace that https://ui.perfetto.dev opens; csv "
            "and parquet: a folder of tables.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            readable=False,
            metavar="OUT",
            help="The file of the trace, or the folder of the tables.",
        ),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option("--tables", metavar="NAME,...", help="Only these tables."),
    ] = None,
    memory_limit: MemoryLimit = "1GB",
    quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Write a run as a trace for Perfetto, or its tables as CSV or Parquet."""
    from tracekit.query import Limits

    (run,) = open_runs([place], quiet=quiet)
    limits = Limits(memory=memory_limit)
    if to in (Target.PERFETTO, Target.CHROME):
        if tables is not None:
            raise UsageError(f"--tables is not for --to {to.value}")
        target = output or Path(f"{run.manifest.name}.{_SUFFIX[to]}")
        _export_trace(run, to, target, limits, quiet=quiet)
    else:
        folder = output or Path(f"{run.manifest.name}.{to.value}")
        _export_tables(run, to, folder, _names(tables), limits, quiet=quiet)


def _names(tables: str | None) -> tuple[str, ...] | None:
    from tracekit.schema import TABLES

    if tables is None:
        return None
    names = tuple(name.strip() for name in tables.split(",") if name.strip())
    for name in names:
        if name not in TABLES:
            raise UsageError(
                f"there is no table `{name}`", hint=f"tables are {', '.join(TABLES)}"
            )
    return names


def _export_trace(
    run: "Run", to: Target, target: Path, limits: "Limits", *, quiet: bool
) -> None:
    from tracekit.api.export import first_and_last, write_trace
    from tracekit.query.engine import SqlSession
    from tracekit.report.trace import ChromeTrace, PerfettoTrace, TraceSink

    try:
        with SqlSession([run], limits=limits) as session, target.open("wb") as file:
            first_ns, last_ns = first_and_last(run, session)
            sink: TraceSink
            if to is Target.CHROME:
                sink = ChromeTrace(file, origin_ns=first_ns)
            else:
                sink = PerfettoTrace(file, origin_ns=min(first_ns, 0))
            written = write_trace(run, session, sink, last_ns=last_ns)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}") from error
    total = sum(written.slices.values())
    note(
        f"Wrote {target}: {total:,} slices, {written.counters:,} values of counters",
        quiet=quiet,
    )
    for table, count in written.without_time.items():
        note(f"Left out {count:,} rows of {table}, which say no time", quiet=quiet)


def _export_tables(
    run: "Run",
    to: Target,
    folder: Path,
    names: tuple[str, ...] | None,
    limits: "Limits",
    *,
    quiet: bool,
) -> None:
    from tracekit.api.export import export_tables

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} is there already", hint="-o names another folder; or remove it"
        )
    write = _write_csv if to is Target.CSV else _write_parquet
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = export_tables(
            run, folder, write, to.value, tables=names, limits=limits
        )
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from error
    note(
        f"Wrote {folder}: {sum(written.values()):,} rows of {len(written)} tables",
        quiet=quiet,
    )


def _write_csv(reader: "pa.RecordBatchReader", file: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.csv

    options = pa.csv.WriteOptions(quoting_style="needed")
    with pa.csv.CSVWriter(file, reader.schema, write_options=options) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_parquet(reader: "pa.RecordBatchReader", file: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
