"""PyTorch traces of the collection, and what the profiler itself says of them."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from tests.support.shared import TRACES
from tracekit.store.run import Run

KINETO = TRACES / "kineto"
PUBLIC = KINETO / "public"
OWN = KINETO / "h200"
_ORACLE = ".exact.json"

Row = dict[str, Any]


def traces() -> list[Path]:
    """Return every trace of the collection; none without it."""
    found = [*PUBLIC.glob("*.json*"), *PUBLIC.glob("*.tar*"), *OWN.glob("*.json.gz")]
    return sorted(found) or [Path("none")]


def oracles() -> dict[str, Path]:
    """Return the integer passes by the name of their trace.

    Of a tar, a pass is of one member: `name.tar.gz__folder__member`.
    """
    found = sorted((PUBLIC / "oracles").glob(f"*{_ORACLE}"))
    return {path.name.removesuffix(_ORACLE): path for path in found} or {
        "none": Path("none")
    }


def key_averages(capture: Path) -> dict[str, Row]:
    """Return what the profiler's `key_averages()` gave, by name."""
    path = capture.with_name(capture.name.replace(".json.gz", ".keyavg.json"))
    return {row["name"]: row for row in json.loads(path.read_text())}


def rows(run: Run, table: str, rank: int | None = None) -> list[Row]:
    """Return the rows of a table."""
    ranks = None if rank is None else (rank,)
    files = [str(path) for path in run.files(table, ranks)]
    if not files:
        return []
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT * FROM read_parquet($files)", {"files": files}
        )
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def union_ns(intervals: Iterable[tuple[int, int]]) -> int:
    """Return the length of the union, by a plain sweep."""
    total, reached = 0, -(2**63)
    for start, end in sorted(intervals):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total


class Calls:
    """The tree of operators, ranges and API calls, as the profiler builds it."""

    def __init__(self, run: Run) -> None:
        self.names: list[str] = []
        self.parents: list[int | None] = []
        self.children: list[list[int]] = []
        self._by_correlation: dict[int, int] = {}
        self._is_call: list[bool] = []
        nodes: dict[int, list[tuple[int, int, int, str, int | None]]] = defaultdict(
            list
        )
        for table, key, depth in (
            ("annotation", "text", 0),
            ("operator", "name", 1),
            ("api_call", "name", 2),
        ):
            for row in rows(run, table):
                if row["thread_id"] is None or row.get("kind") == "mark":
                    continue
                correlation = row["correlation_id"] if table == "api_call" else None
                nodes[row["thread_id"]].append(
                    (row["start_ns"], -row["end_ns"], depth, row[key], correlation)
                )
        for thread in sorted(nodes):
            self._add(sorted(nodes[thread], key=lambda node: node[:3]))

    def _add(self, nodes: list[tuple[int, int, int, str, int | None]]) -> None:
        stack: list[tuple[int, int]] = []
        for start, minus_end, depth, name, correlation in nodes:
            while stack and stack[-1][1] <= start:
                stack.pop()
            number = len(self.names)
            parent = stack[-1][0] if stack else None
            self.names.append(name)
            self.parents.append(parent)
            self.children.append([])
            self._is_call.append(depth == 2)
            if parent is not None:
                self.children[parent].append(number)
            if correlation is not None:
                self._by_correlation.setdefault(correlation, number)
            stack.append((number, -minus_end))

    def launcher(self, correlation: int | None) -> str | None:
        """Return the innermost operator or range around a call."""
        node = self._by_correlation.get(correlation) if correlation else None
        while node is not None and self._is_call[node]:
            node = self.parents[node]
        return None if node is None else self.names[node]

    def counts(self) -> Counter[str]:
        """Return how often each name is left after the profiler's merging.

        A node whose parent has its name and no other child is merged into it, until
        there is none.
        """
        parents, children = list(self.parents), [list(c) for c in self.children]
        alive = [True] * len(self.names)
        again = True
        while again:
            again = False
            for node, name in enumerate(self.names):
                parent = parents[node]
                if (
                    alive[node]
                    and parent is not None
                    and self.names[parent] == name
                    and len(children[parent]) == 1
                ):
                    children[parent] = children[node]
                    for child in children[node]:
                        parents[child] = parent
                    alive[node] = False
                    again = True
        return Counter(
            name for name, left in zip(self.names, alive, strict=True) if left
        )
