"""CNTK: the summary of its profiler."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.cntk.summary import TITLE, read_summary
from tracekit.convert.readers.base import Batch, Reading


class CntkSummaryReader:
    """Reads `<time>_summary_.txt` of `cntk.debugging.start_profiler`."""

    name: ClassVar[str] = "cntk-summary"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file begins with the title of the summary."""
        if not capture.is_file():
            return False
        with capture.open("rb") as file:
            return file.read(256).lstrip().startswith(TITLE)

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        yield from read_summary(capture, reading)
