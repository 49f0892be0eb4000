"""What differs between two runs, and how it is written."""

from dataclasses import dataclass
from enum import Enum
from typing import IO

import msgspec
import pyarrow as pa

from tracekit.report.cells import visible
from tracekit.report.formats import escaped, finite_rows, write_markdown

CHANGES = pa.schema(
    [
        ("kind", pa.string()),
        ("name", pa.string()),
        ("change", pa.string()),
        ("base_value", pa.float64()),
        ("other_value", pa.float64()),
        ("unit", pa.string()),
        ("difference", pa.float64()),
        ("relative", pa.float64()),
        ("noise", pa.float64()),
        ("base_launches", pa.float64()),
        ("other_launches", pa.float64()),
        ("by_launches", pa.float64()),
        ("by_time_each", pa.float64()),
    ]
)
"""Columns of the changes; values are a step, or of the whole capture, by `basis`."""

MEANING = {
    "kind": "step, kernel, copy, operator, range or metric.",
    "name": "What changed.",
    "change": "added, removed, slower, faster, more or fewer launches, higher, lower.",
    "base_value": "Summed time, or the metric, in the first run.",
    "other_value": "The same in the second run.",
    "unit": "Unit of both.",
    "difference": "other_value - base_value.",
    "relative": "difference over base_value; NULL if that is 0.",
    "noise": "The largest difference that may be chance.",
    "base_launches": "How often it occurred in the first run.",
    "other_launches": "How often in the second.",
    "by_launches": "The part of the difference that comes of their number.",
    "by_time_each": "The part that comes of the time of each.",
}


class Basis(Enum):
    """What the times of two runs are compared by."""

    STEP = "the mean of a stable step"
    WHOLE = "the whole capture"


@dataclass(frozen=True)
class Limit:
    """A metric that may not get worse by more than a part of it.

    Attributes:
        metric: Its name.
        worse: By which part it got worse; negative if it got better.
        allowed: By which part it may.
        noise: Which part may be chance.
    """

    metric: str
    worse: float
    allowed: float
    noise: float

    @property
    def is_over(self) -> bool:
        """Whether it got worse by more than allowed, and not by chance."""
        return self.worse > self.allowed and self.worse > self.noise

    def __str__(self) -> str:
        """Return the verdict as one line."""
        how = "worse" if self.worse >= 0 else "better"
        text = f"{self.metric} is {100 * abs(self.worse):.1f} % {how}"
        allowed = f"{100 * self.allowed:g} % are allowed"
        if self.worse > self.allowed and not self.is_over:
            return f"{text}, within the noise of {100 * self.noise:.1f} % ({allowed})"
        return f"{text} ({allowed})"


@dataclass(frozen=True)
class Difference:
    """What differs between two runs.

    Attributes:
        base: run_id of the first.
        other: run_id of the second.
        basis: What their times were compared by.
        changes: The changes that are more than noise, largest first.
        compared: How many things were compared.
        limit: What was asked of a metric, or None.
    """

    base: str
    other: str
    basis: Basis
    changes: pa.Table
    compared: int
    limit: Limit | None = None


def write_json(difference: Difference, target: IO[bytes]) -> None:
    """Write one object, for a program to read."""
    limit = difference.limit
    content = {
        "base": difference.base,
        "other": difference.other,
        "basis": difference.basis.value,
        "compared": difference.compared,
        "changes": finite_rows(difference.changes),
        "limit": None
        if limit is None
        else {
            "metric": limit.metric,
            "worse": limit.worse,
            "allowed": limit.allowed,
            "noise": limit.noise,
            "is_over": limit.is_over,
        },
    }
    target.write(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")


def write_text(difference: Difference, target: IO[bytes]) -> None:
    """Write Markdown, for a comment on a pull request."""
    lines = [
        f"### {_plain(difference.base)} → {_plain(difference.other)}",
        "",
        summary(difference),
    ]
    if difference.limit is not None:
        sign = "❌" if difference.limit.is_over else "✅"
        lines += ["", f"{sign} {_plain(str(difference.limit))}"]
    target.write(("\n".join(lines) + "\n").encode())
    if difference.changes.num_rows:
        target.write(b"\n")
        write_markdown(difference.changes, target)


def summary(difference: Difference) -> str:
    """Return in one sentence how many changes there are of how many comparisons."""
    count = difference.changes.num_rows
    found = {0: "No change", 1: "One change"}.get(count, f"{count:,} changes")
    text = (
        f"{found} among {difference.compared:,} comparisons, by "
        f"{difference.basis.value}."
    )
    fewer = sum(
        row["kind"] == "kernel" and row["change"] in ("fewer launches", "removed")
        for row in difference.changes.to_pylist()
    )
    if fewer:
        shorter = (
            "" if difference.basis is Basis.STEP else ", or the capture is shorter"
        )
        text += (
            f" {fewer:,} kernels were launched less often: work is missing{shorter}."
        )
    return text


def _plain(text: str) -> str:
    return escaped(visible(text))
