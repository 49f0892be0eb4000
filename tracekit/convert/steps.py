"""Training steps that annotations name: `iteration 3`, `ProfilerStep#5`, `step_7`."""

import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# Most telling word first: where a capture has several, that family is taken.
_WORDS = (
    "profilerstep",
    "iteration",
    "train_step",
    "train step",
    "step",
    "iter",
    "batch",
)
_PATTERN = (
    r"(?i)^(.*[^a-z])?(profilerstep|iteration|train[_ ]step|step|iter|batch)"
    r"[\s_#:=-]*\d+$"
)
# What a profiler projects of a range on a stream of a GPU is not the range.
PROJECTED = "gpu_user_annotation"
_PARTS = re.compile(r"(?is)(?P<name>.*?)(?P<index>\d+)")


class StepFinder:
    """Collects annotations that name a step and makes rows of `step` of them.

    Of several families (texts alike but for the number) one is taken a process: that
    with the most telling word, then the most ranges. Ranges of a family that overlap
    each other are no steps: a step ends before the next begins.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[int, int | None, str], list[dict[str, Any]]] = (
            defaultdict(list)
        )

    def look(self, rank: int, rows: pa.RecordBatch) -> None:
        """Note the steps among rows of `annotation`."""
        text = rows.column("text").cast(pa.string())
        named = pc.and_(
            pc.match_substring_regex(text, _PATTERN), pc.is_valid(rows.column("end_ns"))
        )
        for row in rows.filter(pc.fill_null(named, fill_value=False)).to_pylist():
            parts = _PARTS.fullmatch(row["text"])
            if parts is None or row["kind"] == "mark":
                continue
            if row["category"] == PROJECTED:
                continue
            family = parts["name"].lower().rstrip(" _#:=-")
            self._found[rank, row["process_id"], family].append(
                {
                    "step_index": int(parts["index"]),
                    "process_id": row["process_id"],
                    "name": row["text"],
                    "start_ns": row["start_ns"],
                    "end_ns": row["end_ns"],
                    "source": (
                        "profiler" if family.endswith("profilerstep") else "annotation"
                    ),
                }
            )

    def rows(self) -> dict[int, list[dict[str, Any]]]:
        """Return the rows of `step`, by rank, in the order of their start."""
        chosen: dict[tuple[int, int | None], tuple[tuple[int, int], str]] = {}
        for (rank, process, family), steps in self._found.items():
            steps.sort(key=lambda step: (step["start_ns"], step["end_ns"]))
            if len(steps) < 2 or _overlap(steps):
                continue
            worth = (-_telling(family), len(steps))
            best = chosen.get((rank, process))
            if best is None or worth > best[0]:
                chosen[rank, process] = (worth, family)
        rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for (rank, process), (_, family) in sorted(chosen.items(), key=str):
            rows[rank] += self._found[rank, process, family]
        return {rank: rows[rank] for rank in sorted(rows)}


def _telling(family: str) -> int:
    for place, word in enumerate(_WORDS):
        if family.endswith(word):
            return place
    return len(_WORDS)


def _overlap(steps: list[dict[str, Any]]) -> bool:
    return any(
        step["end_ns"] > following["start_ns"] for step, following in pairwise(steps)
    )
