"""Nsight Systems: the folder of Parquet or Arrow files of an export."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.nsys.columnar_export import complete_export, table_files
from tracekit.convert.nsys.reading import read_export
from tracekit.convert.readers.base import Batch, Reading

_MARKS = frozenset(
    {"StringIds", "META_DATA_EXPORT", "EXPORT_META_DATA", "TARGET_INFO_SYSTEM_ENV"}
)


class NsysColumnarReader:
    """Reads what `nsys export -t parquetdir` and `-t arrowdir` write."""

    name: ClassVar[str] = "nsys-columnar"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the folder holds table files of nsys."""
        if not capture.is_dir():
            return False
        names = table_files(capture).keys()
        return bool(_MARKS & names) or any(
            name.startswith("CUPTI_ACTIVITY_KIND_") for name in names
        )

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        export = complete_export(capture, reading.name, reading.log)
        yield from read_export(export, reading)
