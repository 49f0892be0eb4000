"""A line on the terminal that shows how far a conversion is."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_AFTER_SECONDS = 1.0


@contextmanager
def rows_read(what: str, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told the number of rows so far.

    Nothing shows within the first second, or where standard error is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    begin = time.monotonic()
    with console.status("") as status:
        status.stop()
        shown = False

        def update(rows: int) -> None:
            nonlocal shown
            if time.monotonic() - begin < _AFTER_SECONDS:
                return
            if not shown:
                shown = True
                status.start()
            status.update(f"{what}: {rows:,} rows", spinner="dots")

        yield update
