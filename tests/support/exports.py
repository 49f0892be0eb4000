"""Nsight Systems exports to spoil: copies of a recorded one, changed by SQL."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

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
