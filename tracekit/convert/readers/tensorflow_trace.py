"""TensorFlow: Chrome traces of its profiler's viewer and of TF1's timeline."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.trace_events import read_head

# What the profiler writes before its events, and how it and the timeline name planes.
_VIEWER = re.compile(rb'"highres-ticks"\s*:')
_PLANE = re.compile(
    rb'"name"\s*:\s*"(?:/host:|/device:[A-Z]+:\d|/job:[^"]*(?:Compute|Tensors)")'
)


class TensorflowTraceReader:
    """Reads `trace.json.gz` of TensorFlow, JAX and xprof, and TF1's timelines."""

    name: ClassVar[str] = "tensorflow-trace"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is a trace with the planes of TensorFlow."""
        head = read_head(capture)
        return b'"traceEvents"' in head and (
            _VIEWER.search(head[:4096]) is not None or _PLANE.search(head) is not None
        )

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        # It shares the readers of planes, and so protobuf, with XPlane.
        from tracekit.convert.tensorflow_trace.reading import read_trace

        yield from read_trace(capture, reading)
