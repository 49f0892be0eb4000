"""Nsight Systems: the SQLite export of any schema version."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from tracekit.convert.nsys.reading import read_export
from tracekit.convert.nsys.sqlite_export import SqliteExport, is_sqlite, table_names
from tracekit.convert.readers.base import Batch, Reading

_MARKS = frozenset({"META_DATA_EXPORT", "EXPORT_META_DATA", "TARGET_INFO_SYSTEM_ENV"})


class NsysSqliteReader:
    """Reads what `nsys export -t sqlite` writes."""

    name: ClassVar[str] = "nsys-sqlite"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is a SQLite database with the tables of nsys."""
        if not capture.is_file() or not is_sqlite(capture):
            return False
        names = table_names(capture)
        # Exports of 2019 and 2020 hold none of the tables that mark later ones.
        return (
            bool(_MARKS & names)
            or {"StringIds", "ThreadNames"} <= names
            or (
                "StringIds" in names
                and any(n.startswith("CUPTI_ACTIVITY") for n in names)
            )
        )

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        with closing(SqliteExport(capture, reading.log)) as export:
            yield from read_export(export, reading)
