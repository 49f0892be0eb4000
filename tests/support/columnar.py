"""Folders as `nsys export -t parquetdir` and `-t arrowdir` write them, from SQLite."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

_KINDS = {"INTEGER": pa.int64(), "INT": pa.int64(), "REAL": pa.float64()}


def columnar_copy(export: Path, folder: Path, *, form: str = "parquet") -> Path:
    """Write the tables of a SQLite export as files of `folder`.

    As nsys does, text columns are declared text whatever bytes they hold, and numbers
    that are never negative come unsigned.

    Args:
        export: The SQLite export.
        folder: The folder to make.
        form: `parquet` or `arrow`.
    """
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(export)) as connection:
        connection.text_factory = bytes
        names = [
            name.decode()
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND name NOT LIKE 'sqlite%'"
            )
        ]
        for name in names:
            table = _table(connection, name)
            if form == "parquet":
                pq.write_table(table, folder / f"{name}.parquet")
            else:
                with pa.ipc.new_stream(folder / f"{name}.arrow", table.schema) as sink:
                    sink.write_table(table)
    return folder


def _table(connection: sqlite3.Connection, name: str) -> pa.Table:
    columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
    rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
    arrays = []
    for place, (_, _, declared, *_) in enumerate(columns):
        cells = [row[place] for row in rows]
        kind = _KINDS.get(declared.decode().upper())
        if kind is None:
            arrays.append(_text(cells))
        elif kind == pa.int64() and all(cell is None or cell >= 0 for cell in cells):
            arrays.append(pa.array(cells, pa.uint64()))
        else:
            arrays.append(pa.array(cells, kind))
    return pa.table(arrays, [column[1].decode() for column in columns])


def _text(cells: list[bytes | None]) -> pa.Array:
    raw = pa.array(cells, pa.binary())
    # The same buffers under another name: nothing checks that they are UTF-8.
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers(), raw.null_count)
