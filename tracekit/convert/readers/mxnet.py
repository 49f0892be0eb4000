"""MXNet: the trace of its profiler."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.trace_events import read_head

_MARKS = (b'"MXNET_C_API"', b'"cpu pinned/"', b'"Device Storage"')


class MxnetReader:
    """Reads what `mxnet.profiler.dump` writes."""

    name: ClassVar[str] = "mxnet"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is a trace with the devices or categories of MXNet."""
        head = read_head(capture)
        return b'"traceEvents"' in head and any(mark in head for mark in _MARKS)

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        from tracekit.convert.mxnet.trace import read_trace

        yield from read_trace(capture, reading)
