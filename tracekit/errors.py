"""The errors a user can cause; the CLI prints them without a traceback."""

from typing import ClassVar


class TracekitError(Exception):
    """Base of every error that has a cause the user can change.

    Attributes:
        exit_code: The process status this kind of error ends with.
        hint: One thing to type or set, or None.
    """

    exit_code: ClassVar[int]

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(TracekitError):
    """Options that contradict each other or name something that cannot be."""

    exit_code = 2


class UnreadableTraceError(TracekitError):
    """The input is no capture, no run, or is damaged."""

    exit_code = 3


class MissingToolError(TracekitError):
    """A program, an optional package or a permission is missing."""

    exit_code = 4


class OutputError(TracekitError):
    """The result cannot be written: the disk is full or the place is forbidden."""

    exit_code = 4


class QueryError(TracekitError):
    """A query, its parameters or the user's SQL do not work."""

    exit_code = 5


class CollectError(TracekitError):
    """The program ran, or should have, and no capture of its GPU work came of it."""

    exit_code = 125
