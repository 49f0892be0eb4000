"""Nsight Systems: the report itself, exported by an nsys that is installed."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.nsys.report import (
    REPORT_SUFFIXES,
    STREAM_SUFFIX,
    ReportHead,
    read_head,
)
from tracekit.convert.nsys.report_export import (
    FLAGS,
    export_report,
    missing_library,
)
from tracekit.convert.nsys.sqlite_export import is_sqlite
from tracekit.convert.readers.base import Batch, Reader, Reading
from tracekit.convert.readers.nsys_columnar import NsysColumnarReader
from tracekit.convert.readers.nsys_sqlite import NsysSqliteReader
from tracekit.errors import MissingToolError, UnreadableTraceError
from tracekit.tools.libraries import library_named_in
from tracekit.tools.nsys import VARIABLE, Nsys, find_nsys, version_text


class NsysReportReader:
    """Reads `.nsys-rep` and `.qdrep`, whose format only nsys itself knows."""

    name: ClassVar[str] = "nsys-report"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file begins as a report does.

        A name that ends as a report's is taken for one, unless it is a SQLite file:
        nsys can say what is wrong with it.
        """
        if not capture.is_file():
            return False
        head = read_head(capture)
        if head.is_report or head.is_stream:
            return True
        named = capture.suffix in (*REPORT_SUFFIXES, STREAM_SUFFIX)
        return named and not is_sqlite(capture)

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`.

        Raises:
            MissingToolError: There is no nsys that can export it.
            UnreadableTraceError: nsys cannot read it.
        """
        head = read_head(capture)
        if head.is_stream or (capture.suffix == STREAM_SUFFIX and not head.is_report):
            raise _only_a_stream(reading.name, head)
        nsys = _nsys_for(reading.name, head)
        with tempfile.TemporaryDirectory(dir=reading.scratch, prefix="nsys-") as place:
            # Beside the export: nsys names what it prints after this, and an old one
            # goes by the suffix.
            report = Path(place) / capture.name
            if report.suffix not in REPORT_SUFFIXES:
                report = report.with_name(capture.name + REPORT_SUFFIXES[0])
            report.symlink_to(capture.absolute())
            folder = Path(place) / "export"
            folder.mkdir()
            made = export_report(nsys, report, head.version, folder, reading.log)
            yield from _reader_of(made, reading.name).read(made, reading)
            shutil.rmtree(folder)


def _reader_of(made: Path, name: str) -> Reader:
    for reader in (NsysColumnarReader(), NsysSqliteReader()):
        if reader.accepts(made):
            return reader
    raise UnreadableTraceError(
        f"the export that nsys made of {name} holds no table of a capture",
        hint="look whether the report opens in the Nsight Systems viewer",
    )


def _nsys_for(name: str, head: ReportHead) -> Nsys:
    found = find_nsys()
    stem = name.partition(".")[0]
    there = f"nsys export -t parquetdir {' '.join(FLAGS)} -o {stem}_pqtdir {name}"
    if found is None:
        newer = f" {version_text(head.version)} or newer" if head.version else ""
        doubt = (
            "" if head.is_report else ", if it is a report: it does not begin as one"
        )
        raise MissingToolError(
            f"{name} needs nsys{newer} to be read, and none was found{doubt}",
            hint=f"where Nsight Systems is installed run: {there}\n"
            f"and convert {stem}_pqtdir; or set {VARIABLE} to the path of nsys",
        )
    library = library_named_in(found.failure)
    if library:
        raise missing_library(found, library, f"\n  | {found.failure}")
    if found.failure:
        raise MissingToolError(
            f"{found.path} does not run\n  | {found.failure}",
            hint=f"set {VARIABLE} to the path of another nsys, or where one runs: "
            f"{there}",
        )
    return found


def _only_a_stream(name: str, head: ReportHead) -> UnreadableTraceError:
    written = f" of nsys {version_text(head.version)}" if head.version else ""
    stem = name.removesuffix(STREAM_SUFFIX)
    return UnreadableTraceError(
        f"{name} is the raw stream{written}, not a report: the importer did not run "
        "where it was captured (often because libdw.so.1 is missing there)",
        hint="make a report of it with the QdstrmImporter of the same Nsight Systems: "
        f"QdstrmImporter -i {name} -o {stem}.nsys-rep",
    )
