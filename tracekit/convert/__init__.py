"""CONVERT: any supported capture becomes a run."""

from tracekit.convert.convert import Request, convert
from tracekit.convert.redaction import Redact

__all__ = ["Redact", "Request", "convert"]
