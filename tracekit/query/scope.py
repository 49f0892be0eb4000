"""Which part of a run a query is asked about: window, devices, ranks, processes."""

import re
from dataclasses import dataclass
from enum import Enum

from tracekit.errors import UsageError

_UNITS = {"": 1, "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_TIME = re.compile(r"(?P<relative>\+?)(?P<number>-?\d+(?:\.\d+)?)(?P<unit>ns|us|ms|s|)")


class WindowKind(Enum):
    """The windows that `--window` knows.

    ALL is, per device, from first to last GPU activity; RUN is the same over all
    devices and ranks together; STEPS is the stable steps; SPAN is FROM:TO; RANGE is
    every instance of an annotation.
    """

    ALL = "all"
    RUN = "run"
    STEPS = "steps"
    SPAN = "span"
    RANGE = "range"


@dataclass(frozen=True)
class TimePoint:
    """A time in ns: on the recorded clock, or after the first GPU activity."""

    ns: int
    relative: bool


@dataclass(frozen=True)
class TimeWindow:
    """A window as it was asked for.

    Attributes:
        kind: Which window.
        start: Start of a SPAN, None for open.
        end: End of a SPAN, None for open.
        name: Text of the annotations of a RANGE.
    """

    kind: WindowKind = WindowKind.ALL
    start: TimePoint | None = None
    end: TimePoint | None = None
    name: str | None = None

    def __str__(self) -> str:
        """Return the window as one types it."""
        if self.kind is WindowKind.RANGE:
            return f"range:{self.name}"
        if self.kind is WindowKind.SPAN:
            return f"{_text(self.start)}:{_text(self.end)}"
        return str(self.kind.value)


@dataclass(frozen=True)
class Scope:
    """The part of the runs that is asked about; None is everything.

    Attributes:
        window: The time window.
        devices: device_ids.
        ranks: Ranks.
        processes: process_ids.
    """

    window: TimeWindow | None = None
    devices: tuple[int, ...] | None = None
    ranks: tuple[int, ...] | None = None
    processes: tuple[int, ...] | None = None

    def options(self) -> tuple[str, ...]:
        """Return what was asked for as one types it."""
        found = [] if self.window is None else [f"--window {self.window}"]
        for option, numbers in (
            ("--device", self.devices),
            ("--rank", self.ranks),
            ("--process", self.processes),
        ):
            found += [f"{option} {number}" for number in numbers or ()]
        return tuple(found)


def parse_window(text: str) -> TimeWindow:
    """Read `all`, `run`, `steps`, `FROM:TO` or `range:NAME`.

    Times are ns on the recorded clock, or have a unit (`250us`, `1.5s`); with a `+`
    they count from the first GPU activity. Either end may be left out.

    Raises:
        UsageError: It is none of these.
    """
    if text in ("all", "run", "steps"):
        return TimeWindow(WindowKind(text))
    if text == "range:":
        raise UsageError("the window range: names no range", hint="range:NAME")
    if text.startswith("range:"):
        return TimeWindow(WindowKind.RANGE, name=text.removeprefix("range:"))
    start, colon, end = text.partition(":")
    if not colon:
        raise UsageError(
            f"there is no window `{text}`",
            hint="all, run, steps, FROM:TO (such as 10ms:20ms) or range:NAME",
        )
    window = TimeWindow(WindowKind.SPAN, _point(start), _point(end))
    first, last = window.start, window.end
    if (
        first is not None
        and last is not None
        and first.relative == last.relative
        and last.ns <= first.ns
    ):
        raise UsageError(f"the window {text} ends before it begins")
    return window


def _point(text: str) -> TimePoint | None:
    if not text:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise UsageError(
            f"`{text}` is no time", hint="write ns, or a number with us, ms or s"
        )
    # Decimal text times a power of ten, in integers: no rounding of large times.
    whole, _, fraction = match["number"].partition(".")
    unit = _UNITS[match["unit"]]
    sign = -1 if whole.startswith("-") else 1
    ns = int(whole) * unit
    if fraction:
        ns += sign * (int(fraction) * unit // 10 ** len(fraction))
    return TimePoint(ns, bool(match["relative"]))


def _text(point: TimePoint | None) -> str:
    if point is None:
        return ""
    return f"{'+' if point.relative else ''}{point.ns}"
