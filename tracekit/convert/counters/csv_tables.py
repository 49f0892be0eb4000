"""The tables in a CSV file of a command-line profiler, which also holds other lines.

The profiler's messages (`==PROF== ...`, `==123== ...`) and whatever the program printed
stand before, between and after the tables.
"""

import codecs
import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tracekit.errors import UnreadableTraceError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # What a shell of Windows redirects into a file.
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DELIMITERS = (",", ";", "\t")
_HEAD = 1 << 20
_LONGEST_LINE = 1 << 22

IsHeader = Callable[[frozenset[str]], bool]


@dataclass(frozen=True)
class Line:
    """A row of a table.

    Attributes:
        header: The header it stands under; the same object for all rows of a table.
        cells: As many cells as the header has, or other than that if it is damaged.
    """

    header: tuple[str, ...]
    cells: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether the row has a cell for each column."""
        return len(self.cells) == len(self.header)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file in the encoding that its first bytes tell, else UTF-8."""
    with path.open("rb") as file:
        start = file.read(4)
    encoding = next((name for bom, name in _BOMS if start.startswith(bom)), "utf-8")
    with path.open(encoding=encoding, errors="replace", newline="") as text:
        yield text


def has_table(path: Path, is_header: IsHeader, mark: str | None = None) -> bool:
    """Tell whether the first MiB has a header, or a line that begins with `mark`."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(4096)
    if b"\0" in start and not start.startswith(
        (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    ):
        return False
    try:
        with open_text(path) as file:
            head = file.read(_HEAD)
    except UnicodeError:
        return False
    return any(
        (mark is not None and line.startswith(mark))
        or _header(line, is_header) is not None
        for line in head.splitlines()
    )


def read_lines(
    path: Path, is_header: IsHeader, on_message: Callable[[str], None]
) -> Iterator[Line]:
    """Yield the rows of all tables of a file.

    Args:
        path: The file.
        is_header: Tells the columns of a table's header.
        on_message: Takes each line that begins with `==`.

    Raises:
        UnreadableTraceError: A cell is longer than any that a tool writes.
    """
    with open_text(path) as file:
        lines = _without_messages(file, on_message)
        header: tuple[str, ...] | None = None
        delimiter = ","
        # Outside of a table a quote means nothing, so it is not read as CSV.
        for line in lines:
            found = _header(line, is_header)
            if found is not None:
                header, delimiter = found
                break
        if header is None:
            return
        try:
            for cells in csv.reader(lines, delimiter=delimiter):
                if len(cells) > 1 and is_header(frozenset(cells)):
                    header = tuple(cells)
                elif cells:
                    yield Line(header, cells)
        except (csv.Error, UnicodeError) as error:
            raise UnreadableTraceError(
                f"{path.name} is no CSV from some line on: {error}",
                hint="write it again",
            ) from error


def _without_messages(file: TextIO, on_message: Callable[[str], None]) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        if line.startswith("=="):
            on_message(line.strip())
        else:
            yield line


def _header(line: str, is_header: IsHeader) -> tuple[tuple[str, ...], str] | None:
    for delimiter in _DELIMITERS:
        if delimiter not in line:
            continue
        try:
            cells = next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
        except csv.Error:
            return None
        if is_header(frozenset(cells)):
            return tuple(cells), delimiter
    return None
