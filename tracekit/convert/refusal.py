"""Says why no reader accepts a capture."""

from pathlib import Path

from tracekit.convert.capture import stem
from tracekit.convert.nsys.sqlite_export import damage, is_sqlite, table_names
from tracekit.errors import UnreadableTraceError

_SHOWN_TABLES = 3


def same_rank(rank: int, first: str, second: str) -> UnreadableTraceError:
    """Return the error for two captures that have one rank, by their names."""
    one = first != second and stem(Path(first)) == stem(Path(second))
    return UnreadableTraceError(
        f"{first} and {second} are both rank {rank}",
        hint="give one of them: by their names they are one capture"
        if one
        else "rename the files so that each holds its rank: rank-0, rank-1",
    )


def refusal(capture: Path, tried: str) -> UnreadableTraceError:
    """Return the error for what no reader accepts.

    Args:
        capture: The file or folder.
        tried: The names of the readers.
    """
    if capture.is_file() and is_sqlite(capture):
        found = damage(capture)
        if found is not None:
            return UnreadableTraceError(
                f"{capture.name} is not a complete SQLite file: {found}",
                hint="copy or export it again",
            )
        names = sorted(table_names(capture))
        shown = ", ".join(names[:_SHOWN_TABLES]) or "none"
        more = ", ..." if len(names) > _SHOWN_TABLES else ""
        return UnreadableTraceError(
            f"{capture.name} is a SQLite file, but no profiler's: its tables are "
            f"{shown}{more}"
        )
    what = f"the folder {capture.name}" if capture.is_dir() else capture.name
    return UnreadableTraceError(
        f"no reader accepts {what} (tried: {tried})",
        hint="give what a profiler wrote; docs/formats has a page on each format",
    )
