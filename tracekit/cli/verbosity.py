"""Whether the user asked for detail with `--verbose`."""

import traceback
from contextvars import ContextVar

_VERBOSE: ContextVar[bool] = ContextVar("verbose", default=False)


def set_verbose(value: bool) -> bool:  # noqa: FBT001 - the form of a typer callback
    """Note what the option of a command says."""
    _VERBOSE.set(value)
    return value


def is_verbose() -> bool:
    """Tell whether detail is wanted: where an error arose, what a conversion did."""
    return _VERBOSE.get()


def origin_of(error: BaseException) -> list[str]:
    """Say where an error was raised, and what it was made of."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        if cause is not error:
            lines.append(f"Caused by {type(cause).__name__}: {cause}")
        frames = traceback.extract_tb(cause.__traceback__)
        if frames:
            last = frames[-1]
            lines.append(f"Raised in {last.filename}:{last.lineno}, {last.name}")
        cause = cause.__cause__
    return lines
