"""MXNet: the totals of its profiler."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.mxnet.totals import LARGEST_BYTES, TITLE, read_totals
from tracekit.convert.readers.base import Batch, Reading

_HEAD = 4096
_OBJECT = re.compile(rb'\s*\{\s*"(?:Time|Memory|Unit)"\s*:\s*\{')
_UNIT = re.compile(rb'"Unit"\s*:\s*\{\s*"(?:Time|Memory)"')


class MxnetTotalsReader:
    """Reads what `mxnet.profiler.dumps` returns, as text or as JSON."""

    name: ClassVar[str] = "mxnet-totals"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file has the title of the text or the keys of the JSON."""
        if not capture.is_file():
            return False
        with capture.open("rb") as file:
            head = file.read(_HEAD)
        if head.lstrip().startswith(TITLE):
            return True
        if _OBJECT.match(head) is None or capture.stat().st_size > LARGEST_BYTES:
            return False
        return _UNIT.search(capture.read_bytes()) is not None

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        yield from read_totals(capture, reading)
