"""Says why no reader accepts a capture."""

from pathlib import Path

from tracekit.convert.capture import stem
from tracekit.convert.nsys.sqlite_export import damage, is_sqlite, table_names
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import is_run

_SHOWN_TABLES = 3
_SHOWN_FILES = 3
_SHOWN_BYTES = 24
_SHOWN_BINARY = 8
_KNOWN = (
    "known are captures of Nsight Systems, Nsight Compute, nvprof, the PyTorch "
    "profiler, TensorFlow and JAX, MXNet, CNTK and ROCm; docs/formats has a page on "
    "each"
)


def same_rank(rank: int, first: str, second: str) -> UnreadableTraceError:
    """Return the error for two captures that have one rank, by their names."""
    one = first != second and stem(Path(first)) == stem(Path(second))
    return UnreadableTraceError(
        f"{first} and {second} are both rank {rank}",
        hint="give one of them: by their names they are one capture"
        if one
        else "rename the files so that each holds its rank: rank-0, rank-1; or "
        "convert each by itself, if they are not of one job",
    )


def refusal(capture: Path) -> UnreadableTraceError:
    """Return the error for what no reader accepts.

    Args:
        capture: The file or folder.
    """
    if is_run(capture):
        return UnreadableTraceError(
            f"{capture.name} is a run already, no capture",
            hint="give the capture that it was made from",
        )
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
        f"no reader accepts {what}: it {_content(capture)}", hint=_KNOWN
    )


def _content(capture: Path) -> str:
    """Say what a file begins with, or what a folder holds."""
    if capture.is_dir():
        names = sorted(path.name for path in capture.iterdir())
        shown = ", ".join(repr(name) for name in names[:_SHOWN_FILES])
        more = ", ..." if len(names) > _SHOWN_FILES else ""
        return f"holds {shown}{more}" if names else "is empty"
    with capture.open("rb") as file:
        head = file.read(_SHOWN_BYTES)
    text = head.decode("utf-8", "replace")
    # A character may be cut at the end.
    if "\ufffd" in text[:-1] or "\0" in text:
        return f"begins with the bytes {head[:_SHOWN_BINARY].hex(' ')}"
    return f"begins with {text!r}"
