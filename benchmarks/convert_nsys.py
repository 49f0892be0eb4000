"""Converts a large nsys export, beside a plain loop and beside polars.

    python benchmarks/convert_nsys.py [--kernels 5000000] [--folder DIR]

All three do the same work on the same export: read kernels, API calls and ranges, put
names in place of ids, sort by start, write zstd Parquet. tracekit also checks rows,
maps processes and devices, demangles, hashes the capture and writes a manifest. Each
runs in a process of its own, one after the other; the last columns compare them with
the loop, in the same run on the same machine.
"""

import argparse
import sqlite3
import sys
import tempfile
from pathlib import Path

from measuring import Cost, cost_of, machine
from synthetic_nsys import write_export


def words(text: str) -> list[str]:
    """Return the names in a text."""
    return text.split()


KERNEL = words(
    "start end deviceId contextId greenContextId streamId correlationId globalPid"
    " demangledName shortName mangledName launchType registersPerThread gridX gridY"
    " gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory"
    " localMemoryPerThread localMemoryTotal sharedMemoryExecuted graphNodeId graphId"
    " clusterX clusterY clusterZ"
)
CALL = words(
    "start end eventClass globalTid correlationId nameId returnValue callchainId"
)
RANGE = words(
    "start end eventType text textId globalTid endGlobalTid domainId category jsonText"
)
COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_RUNTIME": CALL,
    "NVTX_EVENTS": RANGE,
}
NAMES = {"demangledName", "shortName", "mangledName", "nameId", "textId"}
TEXT = {"text", "jsonText"}
CONTENDERS = ("tracekit", "loop", "polars")


def tracekit(export: Path, out: Path) -> None:
    """Convert as `tracekit convert` does."""
    from tracekit.convert import convert

    convert([export], out)


def loop(export: Path, out: Path) -> None:
    """Read rows from a cursor, make Arrow arrays of them, sort, write."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    out.mkdir()
    connection = sqlite3.connect(export)
    strings = dict(connection.execute("SELECT id, value FROM StringIds"))
    for table, columns in COLUMNS.items():
        listed = ", ".join(f'"{name}"' for name in columns)
        cursor = connection.execute(f"SELECT {listed} FROM {table}")
        batches = []
        while rows := cursor.fetchmany(100_000):
            arrays = []
            for name, cells in zip(columns, zip(*rows, strict=True), strict=True):
                if name in NAMES:
                    texts = [strings.get(cell) for cell in cells]
                    arrays.append(pa.array(texts, pa.string()).dictionary_encode())
                else:
                    kind = pa.string() if name in TEXT else pa.int64()
                    arrays.append(pa.array(cells, kind))
            batches.append(pa.RecordBatch.from_arrays(arrays, columns))
        whole = pa.Table.from_batches(batches).unify_dictionaries()
        whole = whole.take(pc.sort_indices(whole, [("start", "ascending")]))
        pq.write_table(whole, out / f"{table}.parquet", compression="zstd")


def polars(export: Path, out: Path) -> None:
    """Read whole tables, join the names, sort, write."""
    import polars as pl

    out.mkdir()
    url = f"sqlite://{export}"
    strings = pl.read_database_uri("SELECT id, value FROM StringIds", url)
    for table, columns in COLUMNS.items():
        listed = ", ".join(f'"{name}"' for name in columns)
        frame = pl.read_database_uri(f"SELECT {listed} FROM {table}", url)
        for name in columns:
            if name in NAMES:
                texts = strings.rename({"id": name, "value": f"{name}_text"})
                frame = frame.join(texts, on=name, how="left").drop(name)
        frame.sort("start").write_parquet(out / f"{table}.parquet", compression="zstd")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kernels", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path, help="keep the export here")
    parser.add_argument("--only", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        globals()[options.only](options.folder, options.out)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        export = (options.folder or Path(scratch)) / f"nsys-{options.kernels}.sqlite"
        if not export.exists():
            write_export(export, options.kernels)
        connection = sqlite3.connect(export)
        rows = sum(
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in COLUMNS
        )
        connection.close()
        print(f"{rows:,} rows, {export.stat().st_size / 1e6:,.0f} MB; {machine()}")
        costs = {}
        for name in CONTENDERS:
            arguments = (
                __file__,
                f"--only={name}",
                f"--folder={export}",
                f"--out={Path(scratch) / name}",
            )
            costs[name] = cost_of(arguments)
        report(costs, rows)


def report(costs: dict[str, Cost], rows: int) -> None:
    """Print what each took, and how many times less than the loop."""
    title = ("", "wall s", "CPU s", "rows/s", "peak MB", "wall x", "CPU x")
    print("{:10}{:>10}{:>10}{:>12}{:>10}{:>9}{:>9}".format(*title))
    plain = costs["loop"]
    for name, cost in costs.items():
        print(
            f"{name:10}{cost.wall_s:10.1f}{cost.cpu_s:10.1f}"
            f"{rows / cost.wall_s:12,.0f}{cost.peak_mb:10,.0f}"
            f"{plain.wall_s / cost.wall_s:9.2f}{plain.cpu_s / cost.cpu_s:9.2f}"
        )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
