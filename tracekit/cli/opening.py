"""Opens the runs that a command is given, and says what it converts."""

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli.output import note
from tracekit.cli.progress import rows_read
from tracekit.cli.verbosity import is_verbose

if TYPE_CHECKING:
    from tracekit.store.run import Run


def open_runs(paths: list[Path], *, quiet: bool) -> "list[Run]":
    """Open runs; raw captures are converted once, into a cache beside them."""
    from tracekit.store.run import is_run, open_run

    return [
        open_run(path) if is_run(path) else _converted(path, quiet=quiet)
        for path in paths
    ]


def _converted(path: Path, *, quiet: bool) -> "Run":
    # Imported here: what converts takes a tenth of a second to load.
    from tracekit.api.cache import open_cached
    from tracekit.convert import Request

    with rows_read(f"converting {path.name}", quiet=quiet) as on_rows:
        run = open_cached(path, Request(on_rows=on_rows))
    warn(run, quiet=quiet)
    return run


def warn(run: "Run", *, quiet: bool) -> None:
    """Tell what the converter found wrong with a capture."""
    import pyarrow.parquet as pq

    for file in run.files("diagnostic"):
        for row in pq.read_table(file).to_pylist():
            is_info = row["severity"] == "info"
            if row["source"] == "converter" and (is_verbose() or not is_info):
                # However bad the capture is, a run came of it.
                severity = "Info" if is_info else "Warning"
                note(f"{severity}: {row['text']}", quiet=quiet)
