"""Holds what counter files say until the timeline they belong to is known."""

from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tracekit.convert.readers.base import Batch, CaptureLog
from tracekit.store.manifest import Joined

Write = Callable[[str, int, pa.RecordBatch], None]


class HeldCounters:
    """The counters of a run, by capture."""

    def __init__(self) -> None:
        self._held: list[tuple[CaptureLog, list[Batch]]] = []

    def hold(self, log: CaptureLog, batch: Batch) -> None:
        """Take rows of `kernel_metric`, and whatever a capture without times says."""
        if not batch.rows.num_rows:
            return
        if not self._held or self._held[-1][0] is not log:
            self._held.append((log, []))
        self._held[-1][1].append(batch)

    def devices(self) -> list[dict[str, Any]]:
        """Return what was held of GPUs."""
        return [
            row
            for _, batches in self._held
            for batch in batches
            if batch.table == "device"
            for row in batch.rows.to_pylist()
        ]

    def release(
        self,
        complete: Callable[[str], dict[int, Path]],
        rank: int,
        device_names: Mapping[int, str],
        write: Write,
        *,
        has_devices: bool,
    ) -> list[Joined]:
        """Write what was held, counters matched to kernels, and say how they matched.

        Args:
            complete: Completes a table and gives its files by rank.
            rank: Where rows that belong to no kernel go.
            device_names: Names of the GPUs of the timelines.
            write: Takes table, rank and rows.
            has_devices: Whether the timelines list their GPUs.
        """
        if not self._held:
            return []
        kernels = complete("kernel")
        outcomes = []
        listed: set[int] = set()
        for log, batches in self._held:
            metrics = [batch for batch in batches if batch.table == "kernel_metric"]
            if metrics:
                # Imported here: polars takes a quarter of a second to load, and few
                # runs have counters.
                from tracekit.convert.counters.join import join

                outcome = join(
                    [batch.rows for batch in metrics],
                    {metrics[0].rank: kernels[metrics[0].rank]}
                    if log.has_timeline and metrics[0].rank in kernels
                    else kernels,
                    rank,
                    write,
                    by_correlation=log.has_timeline,
                )
                outcomes.append(outcome)
                _tell(outcome, log)
            for batch in batches:
                if batch.table == "device":
                    _compare(batch.rows, device_names, log)
                    if not has_devices:
                        write("device", batch.rank, _new(batch.rows, listed))
                elif batch.table != "kernel_metric":
                    write(batch.table, rank, batch.rows)
        return outcomes


def _new(rows: pa.RecordBatch, listed: set[int]) -> pa.RecordBatch:
    ids = rows.column("device_id").to_pylist()
    fresh = rows.filter(pa.array([device not in listed for device in ids], pa.bool_()))
    listed.update(ids)
    return fresh


def _compare(
    rows: pa.RecordBatch, device_names: Mapping[int, str], log: CaptureLog
) -> None:
    known: Container[str] = set(device_names.values())
    for name in rows.column("name").drop_null().to_pylist():
        if device_names and name not in known:
            log.diagnose(
                "warning",
                f"the counters were measured on {name}, the timeline on "
                f"{', '.join(sorted(device_names.values()))}",
            )


def _tell(outcome: Joined, log: CaptureLog) -> None:
    missing = outcome.launches - outcome.matched
    if missing and outcome.kernels:
        log.diagnose(
            "warning",
            f"{outcome.tool}: {missing} of {outcome.launches} measured launches match "
            "no kernel of the timeline; their counters have no kernel_id",
        )
