"""Nsight Systems exports to spoil: copies of a recorded one, changed by SQL."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
KINDS = FIXTURES / "nsys" / "kinds.sqlite.zst"
DEMO = FIXTURES / "demo" / "resnet50.sqlite.zst"
SCALE = FIXTURES / "nsys" / "scale.sqlite.zst"
SCALE_PARQUET = FIXTURES / "nsys" / "scale_pqtdir"
SCALE_ARROW = FIXTURES / "nsys" / "scale_arwdir"
RECORDED = (DEMO, KINDS, SCALE)


def decompressed(path: Path) -> bytes:
    """Return the content of a zstd file."""
    with pa.OSFile(str(path)) as raw:
        content: bytes = pa.CompressedInputStream(raw, "zstd").read()
    return content


def export_in(folder: Path, *statements: str, name: str = "kinds.sqlite") -> Path:
    """Write the export `kinds` into `folder`, changed by SQL statements."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(decompressed(KINDS))
    edit(path, *statements)
    return path


def edit(path: Path, *statements: str) -> None:
    """Change an export by SQL statements."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def insert(path: Path, table: str, rows: Iterable[Iterable[Any]]) -> None:
    """Add rows, given as all cells of the table."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for row in rows:
            cells = list(row)
            marks = ", ".join("?" * len(cells))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", cells)


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query; text that is not UTF-8 is mended."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection.execute(query).fetchall()


def folder_of(export: Path, folder: Path, kind: str) -> Path:
    """Write the tables of a SQLite export into a folder, as nsys export does.

    Args:
        export: The SQLite export.
        folder: The folder to make.
        kind: `parquet` or `arrow`.
    """
    folder.mkdir()
    for (name,) in select(export, "SELECT name FROM sqlite_master WHERE type='table'"):
        rows = select(export, f'SELECT * FROM "{name}"')
        names = [row[1] for row in select(export, f'PRAGMA table_info("{name}")')]
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        # Declared as text, the binary payloads hold any bytes.
        cells = [[_latin(cell) for cell in column] for column in columns]
        table = pa.table(dict(zip(names, cells, strict=True)))
        write_table(table, folder / f"{name}.{kind}")
    return folder


def write_table(table: pa.Table, target: Path) -> None:
    """Write a table as the suffix says: Parquet, or an Arrow stream."""
    if target.suffix == ".parquet":
        pq.write_table(table, target)
        return
    with pa.OSFile(str(target), "wb") as raw, pa.ipc.new_stream(raw, table.schema) as s:
        s.write_table(table)


def _latin(cell: object) -> object:
    return cell.decode("latin-1") if isinstance(cell, bytes) else cell
