"""Puts the clocks of the ranks onto one: by UTC, or by the ends of collectives.

A collective that synchronizes its ranks ends on all of them at about the same time, so
its ends show how far apart the clocks are. What is left after the alignment is the
residual of a rank: the median, over its collectives, of the distance between its end
and the median end of all ranks.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum
from statistics import median_high, median_low
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

# The operations in which no rank is done before every rank has begun.
_SYNCHRONIZING = re.compile(r"^(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)")
_PREFIX = re.compile(r"^(nccl[:_]?|rccl[:_]?|_|c10d::)+")
_READ = ("device_id", "communicator", "operation", "sequence", "end_ns")


class Align(Enum):
    """How the clocks of the ranks are put onto one."""

    NONE = "none"
    UTC = "utc"
    COLLECTIVES = "collectives"


class Offset(NamedTuple):
    """What a rank's clock differs by: a row of `clock`."""

    offset_ns: int
    method: str
    residual_ns: int | None


def _middle(values: Iterable[int]) -> int:
    """Return the median in integers: a double holds UTC times to 256 ns only."""
    ordered = list(values)
    return (median_low(ordered) + median_high(ordered)) // 2


class ClockAligner:
    """Collects the ends of collectives and works out the offsets of the ranks."""

    def __init__(self) -> None:
        self._ends: dict[tuple[object, ...], dict[int, int]] = defaultdict(dict)
        self._count: Counter[tuple[object, ...]] = Counter()

    def look(self, rank: int, rows: pa.RecordBatch) -> None:
        """Note the ends among rows of `collective`, in the order of their start.

        Only rows with a device count: the call that enqueued the operation returns
        long before.
        """
        on_device = rows.filter(pc.is_valid(rows.column("device_id")))
        for row in on_device.select(_READ).to_pylist():
            operation = _PREFIX.sub("", (row["operation"] or "").lower())
            if row["end_ns"] is None or not _SYNCHRONIZING.match(operation):
                continue
            key: tuple[object, ...] = (row["communicator"], operation, row["sequence"])
            if row["sequence"] is None:
                # Without a number the n-th of a rank is the n-th of all ranks.
                number = self._count[rank, key]
                self._count[rank, key] += 1
                key = (*key, number)
            self._ends[key].setdefault(rank, row["end_ns"])

    def offsets(
        self, origins: Mapping[int, int | None], align: Align
    ) -> dict[int, Offset]:
        """Return the offset of each rank.

        Args:
            origins: UTC time of 0 on each rank's recorded clock, where known.
            align: How to align.
        """
        known = [origin for origin in origins.values() if origin is not None]
        offsets = dict.fromkeys(sorted(origins), (0, "recorded"))
        if align is not Align.NONE and len(origins) > 1 and known:
            first = min(known)
            offsets |= {
                rank: (origin - first, "utc")
                for rank, origin in sorted(origins.items())
                if origin is not None
            }
        if align is Align.COLLECTIVES:
            offsets |= {
                rank: (offset, "collectives")
                for rank, offset in self._by_ends(
                    {rank: offset for rank, (offset, _) in offsets.items()}
                ).items()
            }
        residuals = self._residuals({rank: o for rank, (o, _) in offsets.items()})
        return {
            rank: Offset(offset, method, residuals.get(rank))
            for rank, (offset, method) in offsets.items()
        }

    def _shared(self) -> list[dict[int, int]]:
        return [ends for ends in self._ends.values() if len(ends) > 1]

    def _by_ends(self, offsets: dict[int, int]) -> dict[int, int]:
        """Place rank after rank, that with the most common collectives first.

        Ranks of one job need not share a communicator with the first rank, so each is
        compared with all that have been placed.
        """
        shared = self._shared()
        ranks = {rank for ends in shared for rank in ends}
        if not ranks:
            return {}
        start = min(ranks)
        placed = {start: offsets[start]}
        while True:
            common: dict[int, list[int]] = defaultdict(list)
            for ends in shared:
                there = [ends[rank] + placed[rank] for rank in ends if rank in placed]
                if there:
                    middle = _middle(there)
                    for rank in ends.keys() - placed.keys():
                        common[rank].append(middle - ends[rank])
            if not common:
                return placed
            rank = max(common, key=lambda rank: (len(common[rank]), -rank))
            placed[rank] = _middle(common[rank])

    def _residuals(self, offsets: Mapping[int, int]) -> dict[int, int]:
        distances: dict[int, list[int]] = defaultdict(list)
        for ends in self._shared():
            aligned = {rank: end + offsets[rank] for rank, end in ends.items()}
            middle = _middle(aligned.values())
            for rank, end in aligned.items():
                distances[rank].append(abs(end - middle))
        return {rank: _middle(found) for rank, found in distances.items()}
