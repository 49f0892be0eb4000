"""What a trace format can take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Value = bool | int | float | str


@dataclass(frozen=True)
class Group:
    """A process, a thread of one, a GPU, or a host: what tracks stand under.

    Attributes:
        name: What is shown.
        order: Where it stands among its like.
        pid: Number of the process, unique in the trace; None for what is no process.
        tid: Number of the thread, unique in the trace; None for what is no thread.
        parent: The group it stands in.
    """

    name: str
    order: int = 0
    pid: int | None = None
    tid: int | None = None
    parent: "Group | None" = None


class TraceSink(Protocol):
    """Writes slices, instants and counters on tracks."""

    def track(self, group: Group, name: str) -> int:
        """Return the number of a new track in a group."""
        ...

    def slice(
        self,
        track: int,
        name: str,
        start_ns: int,
        end_ns: int,
        *,
        kind: str,
        arguments: Mapping[str, Value],
        leads_to: Sequence[int] = (),
        comes_from: int | None = None,
    ) -> None:
        """Write a slice.

        Args:
            track: Its track; slices of one track nest or follow each other, and come
                in order of their start, the longer first.
            name: Its name.
            start_ns: When it began.
            end_ns: When it ended.
            kind: The table that it was read from.
            arguments: What else is known of it.
            leads_to: Numbers of the arrows that leave it.
            comes_from: Number of the arrow that arrives at it, or None.
        """
        ...

    def instant(
        self,
        track: int,
        name: str,
        time_ns: int,
        *,
        kind: str,
        arguments: Mapping[str, Value],
    ) -> None:
        """Write something that took no time."""
        ...

    def counter_track(self, group: Group, name: str, unit: str | None) -> int:
        """Return the number of a new track of values."""
        ...

    def counter(self, track: int, time_ns: int, value: float) -> None:
        """Write a value."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...
