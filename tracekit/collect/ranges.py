"""The part of a program's run that is recorded."""

from dataclasses import dataclass
from typing import Self

from tracekit.errors import UsageError

WHOLE = "whole"
_BY_CALL = "cudaprofilerapi"
_BY_RANGE = "nvtx:"


@dataclass(frozen=True)
class CaptureRange:
    """The part of a run that is recorded.

    Attributes:
        text: What the user wrote.
        kind: `whole`, `cudaProfilerApi` or `nvtx`.
        range_name: The NVTX range, with `@domain` if it has one; empty otherwise.
    """

    text: str
    kind: str
    range_name: str = ""

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
        name = text.removeprefix(_BY_RANGE)
        if name != text and name:
            return cls(text, "nvtx", name)
        raise UsageError(
            f"--range is `{text}`",
            hint="whole, cudaProfilerApi, or nvtx:NAME for a range of the program",
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
