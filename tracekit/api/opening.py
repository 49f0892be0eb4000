"""Opens whatever stands where a run is expected."""

from collections.abc import Sequence
from pathlib import Path

from tracekit.api.trace import Trace
from tracekit.store.run import Run, is_run, open_run


def open_trace(paths: str | Path | Sequence[str | Path]) -> Trace:
    """Open runs and raw captures as one trace.

    A raw capture is converted once, into a cache beside it.

    Args:
        paths: One path, or several.

    Raises:
        UnreadableTraceError: A path is missing, damaged or of no known format.

    Example:
        >>> import tracekit
        >>> trace = tracekit.open("fixtures/demo/resnet50.sqlite.zst")
        >>> trace.query("gpu.utilization").to_arrow()["kernel_busy_ns"].to_pylist()
        [50339651]
    """
    if isinstance(paths, str | Path):
        paths = [paths]
    return Trace([open_path(Path(path)) for path in paths])


def open_path(path: Path) -> Run:
    """Open a run, or the run of a raw capture."""
    if is_run(path):
        return open_run(path)
    # Imported here: what converts takes a tenth of a second to load.
    from tracekit.api.cache import open_cached

    return open_cached(path)
