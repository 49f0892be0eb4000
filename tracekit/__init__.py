"""Where time, FLOPs and memory went on a GPU.

Example:
    >>> import tracekit
    >>> trace = tracekit.open("fixtures/demo/resnet50.sqlite.zst")
    >>> hotspots = trace.query("kernels.hotspots", limit=5)
"""

from typing import TYPE_CHECKING, Any

from tracekit._version import __version__

__all__ = ["Result", "Trace", "__version__", "open"]

if TYPE_CHECKING:
    from tracekit.api import Result, Trace
    from tracekit.api import open_trace as open


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
    # Loaded on first use: the command line must not pay for pyarrow and DuckDB to
    # print its help.
    if name in ("open", "Trace", "Result"):
        from tracekit import api

        return api.open_trace if name == "open" else getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
