"""A run as a trace that Perfetto opens: Chrome's JSON, or Perfetto's protobuf."""

from tracekit.report.trace.chrome import ChromeTrace
from tracekit.report.trace.lanes import Lanes
from tracekit.report.trace.perfetto import PerfettoTrace
from tracekit.report.trace.sink import Group, TraceSink

__all__ = ["ChromeTrace", "Group", "Lanes", "PerfettoTrace", "TraceSink"]
