"""The Python interface: open runs and captures, ask queries, take tables."""

from tracekit.api.opening import open_trace
from tracekit.api.trace import Result, Trace

__all__ = ["Result", "Trace", "open_trace"]
