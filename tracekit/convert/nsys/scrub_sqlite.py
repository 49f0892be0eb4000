"""Copies what is fit to share of a SQLite export into a new one.

The new database is filled from an empty file, so that no page of it ever held
anything else.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.convert.nsys.environment import read_environment
from tracekit.convert.nsys.share_payload import Payloads
from tracekit.convert.nsys.share_rules import PAIRS, STRINGS, Rows, Rule, Text, rule_for
from tracekit.convert.nsys.share_text import Cleaner
from tracekit.convert.nsys.sqlite_export import SqliteExport, quoted, readonly_uri
from tracekit.convert.readers.base import CaptureLog
from tracekit.errors import OutputError, UnreadableTraceError

_PID_SHIFT = 24
# No schema has the domain -1: the payload is left out, as one of an unknown schema is.
_DOMAIN = "CASE WHEN typeof(domainId) IN ('integer', 'null') THEN domainId ELSE -1 END"
_WRITING = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_TRUNCATE")


def scrub_sqlite(capture: Path, target: Path) -> Counter[tuple[str, str]]:
    """Write a scrubbed copy of an export to `target`; return what was withheld.

    Raises:
        UnreadableTraceError: The export is damaged.
        OutputError: There is no room for the copy.
    """
    log = CaptureLog()
    with closing(SqliteExport(capture, log)) as export:
        read_environment(export, log)
        cleaner = Cleaner(log.private)
        try:
            connection = sqlite3.connect(
                target.as_uri(), uri=True, isolation_level=None
            )
            with closing(connection):
                _Copy(connection, capture, export, cleaner, log).run()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") in _WRITING:
                raise OutputError(
                    f"{target.name}: the disk is full or a limit is reached ({error}); "
                    "nothing was left behind"
                ) from error
            raise UnreadableTraceError(
                f"{capture.name} is not a complete SQLite file: {error}",
                hint="copy or export it again",
            ) from error
    cleaner.close()
    return cleaner.withheld


@dataclass(frozen=True)
class _Column:
    """A column as it is declared."""

    name: str
    kind: str
    required: bool
    is_key: bool

    @property
    def empty(self) -> str:
        """What stands for an emptied cell, as SQL."""
        if not self.required and not self.is_key:
            return "NULL"
        return "''" if "TEXT" in self.kind.upper() else "0"


class _Copy:
    """The new database, with the old one attached as `source`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        capture: Path,
        export: SqliteExport,
        cleaner: Cleaner,
        log: CaptureLog,
    ) -> None:
        self._connection = connection
        self._export = export
        self._cleaner = cleaner
        self._payloads = Payloads(export, log)
        for setting in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "secure_delete = ON",
            "temp_store = MEMORY",
            "trusted_schema = OFF",
        ):
            self._run(f"PRAGMA {setting}")
        connection.create_function("clean", 2, self._clean)
        connection.create_function("numbers_of", 2, self._numbers_of)
        connection.execute("ATTACH ? AS source", (readonly_uri(capture),))
        self._run("CREATE TEMP TABLE kept (id INTEGER PRIMARY KEY, kind TEXT)")
        self._run("CREATE TEMP TABLE process (key INTEGER PRIMARY KEY)")

    def run(self) -> None:
        """Copy table by table: events before the processes and strings they name."""
        self._run("BEGIN")
        later: list[tuple[str, Rule]] = []
        listed: list[tuple[str, Rule]] = []
        for table in self._export.tables():
            rule = rule_for(table)
            if table == STRINGS:
                self._create(table)
            elif rule is None:
                self._cleaner.leave_out(table, self._export.count(table))
            else:
                self._create(table)
                listed.append((table, rule))
                if rule.rows is Rows.OF_PROCESSES:
                    later.append((table, rule))
                else:
                    self._copy(table, rule)
        for table, rule in later:
            self._copy(table, rule)
        self._copy_strings(listed)
        self._run("COMMIT")

    def _run(self, sql: str) -> int:
        return self._connection.execute(sql).rowcount

    def _create(self, table: str) -> None:
        (sql,) = self._connection.execute(
            "SELECT sql FROM source.sqlite_master WHERE type = 'table' AND name = ?",
            (table,),
        ).fetchone()
        self._run(sql)

    def _columns(self, table: str) -> list[_Column]:
        declared = self._connection.execute(
            f"PRAGMA source.table_xinfo({quoted(table)})"
        )
        return [
            _Column(name, kind, bool(required), bool(key))
            for _, name, kind, required, _, key, hidden in declared
            if not hidden
        ]

    def _copy(self, table: str, rule: Rule) -> None:
        count = self._export.count(table)
        if rule.rows is Rows.NONE:
            self._cleaner.withhold(table, count)
            return
        columns = self._columns(table)
        present = {column.name for column in columns}
        if rule.rows is Rows.OF_PROCESSES and rule.owner not in present:
            self._cleaner.ownerless(table, rule.owner, count)
            return
        if rule.rows in PAIRS:
            self._copy_pairs(table, rule, columns)
            return
        condition = ""
        if rule.rows is Rows.OF_PROCESSES:
            condition = (
                f"WHERE {rule.owner} >> {_PID_SHIFT} IN (SELECT key FROM process)"
            )
        domain = _DOMAIN if "domainId" in present else "NULL"
        cells = ", ".join(self._cell(column, rule, domain) for column in columns)
        copied = self._run(
            f"INSERT INTO main.{quoted(table)} ({_names(columns)}) SELECT {cells}"
            f" FROM source.{quoted(table)} {condition} ORDER BY rowid"
        )
        if rule.rows is Rows.OF_PROCESSES:
            reason = "of processes that did nothing in the capture"
            self._cleaner.count(f"rows of {table}", reason, count - copied)
        for owner in rule.owners:
            if owner in present:
                self._run(
                    f"INSERT OR IGNORE INTO process SELECT {owner} >> {_PID_SHIFT}"
                    f" FROM main.{quoted(table)} WHERE typeof({owner}) = 'integer'"
                )

    def _cell(self, column: _Column, rule: Rule, domain: str) -> str:
        """Return the SQL of a cell of a column as it may be shared.

        `domain` is the SQL of the domain that a payload in the row belongs to.
        """
        name = quoted(column.name)
        if column.name in rule.texts:
            kind = rule.texts[column.name]
            if kind is Text.PAYLOAD:
                change = f"numbers_of(CAST({name} AS BLOB), {domain})"
                change = f"coalesce({change}, {column.empty})"
            else:
                change = f"clean('{kind.name}', CAST({name} AS BLOB))"
            return f"CASE WHEN {name} IS NOT NULL THEN {change} END"
        if column.name in rule.columns or column.is_key:
            # What is no number reads as "not recorded", and an empty text does too.
            return (
                f"CASE WHEN typeof({name}) IN ('integer', 'real', 'null')"
                f" THEN {name} ELSE '' END"
            )
        return column.empty

    def _copy_pairs(self, table: str, rule: Rule, columns: list[_Column]) -> None:
        listed = [c for c in columns if c.name in rule.columns]
        emptied = [c for c in columns if c.name not in rule.columns]
        values = ", ".join(["?"] * len(listed) + [c.empty for c in emptied])
        insert = (
            f"INSERT INTO main.{quoted(table)} ({_names([*listed, *emptied])})"
            f" VALUES ({values})"
        )
        for row in self._export.rows(table):
            kept = self._cleaner.pair(rule.rows, row)
            if kept is not None:
                cells = [_of_type(kept[c.name], c.name in rule.numbers) for c in listed]
                self._connection.execute(insert, cells)

    def _copy_strings(self, tables: Iterable[tuple[str, Rule]]) -> None:
        """Copy the strings that a kept column refers to."""
        if not {"id", "value"} <= self._export.columns(STRINGS):
            return
        # A string that is a path in one place is one everywhere.
        for kind in (Text.FILE, Text.NAME, Text.WORD):
            for table, rule in tables:
                present = self._export.columns(table)
                for name, text in rule.strings.items():
                    if text is kind and name in present:
                        self._run(
                            f"INSERT OR IGNORE INTO kept SELECT {name}, '{kind.name}'"
                            f" FROM main.{quoted(table)}"
                            f" WHERE typeof({name}) = 'integer'"
                        )
        columns = self._columns(STRINGS)
        cells = {
            "id": "s.id",
            "value": "CASE WHEN s.value IS NOT NULL"
            " THEN clean(k.kind, CAST(s.value AS BLOB)) END",
        }
        copied = self._run(
            f"INSERT INTO main.StringIds ({_names(columns)})"
            f" SELECT {', '.join(cells.get(c.name, c.empty) for c in columns)}"
            " FROM source.StringIds AS s INNER JOIN kept AS k ON s.id = k.id"
            " ORDER BY s.id"
        )
        unused = self._export.count(STRINGS) - copied
        self._cleaner.unused_strings(unused)

    def _clean(self, kind: str, text: bytes) -> str:
        return self._cleaner.text(Text[kind], text.decode("utf-8", "replace"))

    def _numbers_of(self, payload: bytes, domain: object) -> bytes | None:
        number = domain if isinstance(domain, int) else None
        kept = self._payloads.numbers_of(payload, number)
        self._cleaner.refuse_payload(kept)
        return kept


def _names(columns: Iterable[_Column]) -> str:
    return ", ".join(quoted(column.name) for column in columns)


def _of_type(cell: Any, is_number: bool) -> object:  # noqa: ANN401, FBT001 - a cell
    if is_number and not isinstance(cell, int | float | None):
        return ""
    return cell
