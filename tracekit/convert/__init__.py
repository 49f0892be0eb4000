"""CONVERT: any supported capture becomes a run."""

from tracekit.convert.clocks import Align
from tracekit.convert.convert import Request, convert
from tracekit.convert.redaction import Redact

__all__ = ["Align", "Redact", "Request", "convert"]
