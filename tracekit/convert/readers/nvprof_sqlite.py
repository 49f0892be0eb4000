"""nvprof and the NVIDIA Visual Profiler: their SQLite database."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from tracekit.convert.nsys.sqlite_export import SqliteExport, is_sqlite, table_names
from tracekit.convert.nvprof.reading import read_database
from tracekit.convert.readers.base import Batch, Reading


class NvprofSqliteReader:
    """Reads what `nvprof -o` and `nvvp` write."""

    name: ClassVar[str] = "nvprof-sqlite"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is a SQLite database with the tables of nvprof."""
        if not capture.is_file() or not is_sqlite(capture):
            return False
        names = table_names(capture)
        return "StringTable" in names and any(
            name.startswith("CUPTI_ACTIVITY_KIND_") for name in names
        )

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        with closing(SqliteExport(capture, reading.log)) as export:
            yield from read_database(export, reading)
