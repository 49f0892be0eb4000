"""Makes the run of what a collector captured, and looks whether it holds anything."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli.output import note
from tracekit.cli.progress import rows_read
from tracekit.errors import CollectError, TracekitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracekit.collect.request import Collected
    from tracekit.store.run import Run

_SHOWN_MESSAGES = 5


def finish(
    collected: "Collected",
    destination: Path | None,
    *,
    beside: "Sequence[Path]" = (),
    replace: bool,
    quiet: bool,
) -> "list[Run]":
    """Convert the captures and return the runs; look whether something was recorded.

    Args:
        collected: What was captured.
        destination: The run to make; None to look only.
        beside: Captures that belong to each run, such as its counters.
        replace: Whether a run at the destination may be replaced.
        quiet: Whether nothing but errors is told.

    Raises:
        CollectError: Nothing was recorded, or no run can be made of it.
    """
    try:
        return _convert(
            collected, destination, beside=beside, replace=replace, quiet=quiet
        )
    except CollectError:
        raise
    except TracekitError as error:
        raise CollectError(f"{error}", hint=error.hint) from error


def _convert(
    collected: "Collected",
    destination: Path | None,
    *,
    beside: "Sequence[Path]",
    replace: bool,
    quiet: bool,
) -> "list[Run]":
    from tracekit.cli.opening import warn
    from tracekit.convert import Request
    from tracekit.convert import convert as convert_captures
    from tracekit.schema import TABLES

    runs = []
    with (
        tempfile.TemporaryDirectory(prefix="tracekit-collect-") as scratch,
        rows_read("converting", quiet=quiet) as on_rows,
    ):
        # Numbered captures are stretches of one run, and each makes one of its own.
        parts = [[capture] for capture in collected.captures]
        if collected.is_one_job:
            parts = [list(collected.captures)]
        for number, captures in enumerate(parts):
            place = destination or Path(scratch) / f"{number}.run"
            if destination is not None and number:
                place = destination.with_name(f"{destination.stem}.{number + 1}.run")
            run = convert_captures(
                [*captures, *collected.beside, *beside],
                place,
                Request(
                    tables=frozenset(TABLES if destination else collected.holds),
                    replace=replace,
                    on_rows=on_rows,
                ),
            )
            if destination is not None:
                warn(run, quiet=quiet)
                note(f"Wrote {place}", quiet=quiet)
            _check_recorded(run, collected, captures[0], quiet=quiet)
            runs.append(run)
    return runs


def _check_recorded(
    run: "Run", collected: "Collected", capture: Path, *, quiet: bool
) -> None:
    if any(run.manifest.rows(table) for table in collected.holds):
        return
    said = "".join(f"\n  | {text}" for text in _messages(run))
    text = f"{capture} holds no {collected.what}{said}"
    if collected.status:
        note(f"Warning: {text}", quiet=quiet)
        return
    raise CollectError(text, hint=collected.hint)


def _messages(run: "Run") -> list[str]:
    """Return what the profiler said was wrong."""
    import pyarrow.parquet as pq

    rows = [
        row
        for file in run.files("diagnostic")
        for row in pq.read_table(file).to_pylist()
    ]
    texts = [row["text"] for row in rows if row["severity"] in ("error", "warning")]
    return list(dict.fromkeys(texts))[:_SHOWN_MESSAGES]
