"""The version of tracekit."""

__version__ = "0.1.0"
