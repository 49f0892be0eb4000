"""ROCm: rocpd, the database of rocprofv3."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from tracekit.convert.nsys.sqlite_export import SqliteExport, is_sqlite, table_names
from tracekit.convert.readers.base import Batch, Reading

_MARKS = ("rocpd_kernel_dispatch", "rocpd_region", "rocpd_info_agent")


class RocpdReader:
    """Reads the database that rocprofv3 writes, of schema version 3 and 4."""

    name: ClassVar[str] = "rocpd"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is a SQLite database with the tables of rocpd."""
        if not capture.is_file() or not is_sqlite(capture):
            return False
        # The older `rpd` has other tables of the same prefix.
        return any(name.startswith(_MARKS) for name in table_names(capture))

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        # Imported here: it needs polars, which takes a quarter of a second.
        from tracekit.convert.rocm.rocpd_reading import read_rocpd

        with closing(SqliteExport(capture, reading.log)) as export:
            yield from read_rocpd(export, reading)
