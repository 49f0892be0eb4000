"""The part of a program's run that is recorded."""

import re
from dataclasses import dataclass
from typing import Self

from tracekit.errors import UsageError

WHOLE = "whole"
_BY_CALL = "cudaprofilerapi"
_BY_RANGE = "nvtx:"
_BY_STEPS = re.compile(r"steps:(\d{1,9}):(\d{1,9})")


@dataclass(frozen=True)
class CaptureRange:
    """The part of a run that is recorded.

    Attributes:
        text: What the user wrote.
        kind: `whole`, `cudaProfilerApi`, `nvtx` or `steps`.
        range_name: The NVTX range, with `@domain` if it has one; empty otherwise.
        steps: The first training step, from 0, and the one before which it ends.
    """

    text: str
    kind: str
    range_name: str = ""
    steps: tuple[int, int] | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def is_whole(self) -> bool:
        """Whether all of the run is recorded."""
        return self.kind == WHOLE

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse what the user wrote.

        Raises:
            UsageError: It is none of the known ranges.
        """
        if text == WHOLE:
            return cls(text, WHOLE)
        if text.casefold() == _BY_CALL:
            return cls(text, "cudaProfilerApi")
        steps = _BY_STEPS.fullmatch(text)
        if steps and int(steps[1]) < int(steps[2]):
            return cls(text, "steps", steps=(int(steps[1]), int(steps[2])))
        name = text.removeprefix(_BY_RANGE)
        if name != text and name:
            return cls(text, "nvtx", name)
        raise UsageError(
            f"--range is `{text}`",
            hint="whole, cudaProfilerApi, nvtx:NAME for a range of the program, or "
            "steps:FROM:TO for its training steps",
        )

    def options(self) -> list[str]:
        """Return the options of nsys for it."""
        if self.is_whole:
            return []
        options = [f"--capture-range={self.kind}", "--capture-range-end=stop"]
        if self.range_name:
            options += [
                f"--nvtx-capture={self.range_name}",
                # Names that the program did not register count as well.
                "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0",
            ]
        return options


WHOLE_RUN = CaptureRange(WHOLE, WHOLE)
