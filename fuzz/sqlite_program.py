"""Spoils a SQLite database as bytes say: cells, columns, tables.

Bytes of a database that are changed at random give a file that SQLite itself refuses.
So input that is no database is read as a program: it changes the seed by SQL.
"""

import sqlite3
from contextlib import closing, suppress
from typing import Protocol

MAGIC = b"SQLite format 3\0"
_LONGEST_PROGRAM = 24


class Choices(Protocol):
    """The part of atheris's `FuzzedDataProvider` that is used here."""

    # Its names are not ours.
    # ruff: noqa: N802
    def ConsumeIntInRange(self, low: int, high: int) -> int:
        """Return a number from low to high."""
        ...

    def ConsumeInt(self, size: int) -> int:
        """Return a signed number of `size` bytes."""
        ...

    def ConsumeBytes(self, size: int) -> bytes:
        """Return at most `size` bytes."""
        ...

    def ConsumeUnicode(self, size: int) -> str:
        """Return at most `size` characters."""
        ...

    def ConsumeFloat(self) -> float:
        """Return any double."""
        ...


def spoiled(seed: bytes, choices: Choices) -> bytes:
    """Return the database `seed`, changed."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(seed)
        found = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        )
        tables = [name for (name,) in found]
        for _ in range(choices.ConsumeIntInRange(1, _LONGEST_PROGRAM)):
            table = tables[choices.ConsumeIntInRange(0, len(tables) - 1)]
            # What cannot be done, such as dropping the last column, is left.
            with suppress(sqlite3.Error):
                _change(connection, table, choices)
        connection.commit()
        return connection.serialize()


def _change(connection: sqlite3.Connection, table: str, choices: Choices) -> None:
    columns = [
        row[1]
        for row in connection.execute(f'SELECT * FROM pragma_table_info("{table}")')
    ]
    if not columns:
        return  # It was dropped.
    column = columns[choices.ConsumeIntInRange(0, len(columns) - 1)]
    action = choices.ConsumeIntInRange(0, 9)
    if action == 0:
        connection.execute(f'DROP TABLE "{table}"')
    elif action == 1:
        connection.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
    elif action == 2:
        connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"')
    elif action == 3:
        connection.execute(f'DELETE FROM "{table}"')
    else:
        row = choices.ConsumeIntInRange(0, 7)
        where = (
            ""
            if row == 7
            else (f'WHERE rowid = (SELECT rowid FROM "{table}" LIMIT 1 OFFSET {row})')
        )
        connection.execute(
            f'UPDATE OR REPLACE "{table}" SET "{column}" = ? {where}',
            (_value(choices),),
        )


def _value(choices: Choices) -> object:
    kind = choices.ConsumeIntInRange(0, 7)
    if kind == 0:
        return None
    if kind == 1:
        return choices.ConsumeInt(8)
    if kind == 2:
        edges = (0, -1, 1, 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 2**32, 2**24)
        return edges[choices.ConsumeIntInRange(0, len(edges) - 1)]
    if kind == 3:
        return choices.ConsumeFloat()
    if kind == 4:
        return choices.ConsumeBytes(16)
    if kind == 5:
        return choices.ConsumeInt(2)
    text = choices.ConsumeUnicode(24)
    return text.encode("utf-8", "replace").decode()
