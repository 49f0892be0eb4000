"""CNTK: the detail file of its profiler."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.trace_events import read_head

_ARRAY = re.compile(rb"[\xef\xbb\xbf\s]*\[")
_CATEGORY = re.compile(rb'"cat"\s*:\s*"PERF"')


class CntkReader:
    """Reads `<time>_detail_.json` of `cntk.debugging.start_profiler`."""

    name: ClassVar[str] = "cntk"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is a bare array with CNTK's one category."""
        head = read_head(capture)
        return _ARRAY.match(head) is not None and _CATEGORY.search(head) is not None

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        from tracekit.convert.cntk.trace import read_trace

        yield from read_trace(capture, reading)
