"""Holds what was sampled beside a timeline until the timeline's clock is known."""

from collections.abc import Container, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.numbering import Numbering
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts


class HeldSamples:
    """The samples of a run, by capture."""

    def __init__(self) -> None:
        self._held: list[tuple[CaptureLog, list[Batch]]] = []

    def hold(self, log: CaptureLog, batch: Batch) -> None:
        """Take rows whose times are UTC and whose devices are of their capture."""
        if not self._held or self._held[-1][0] is not log:
            self._held.append((log, []))
        self._held[-1][1].append(batch)

    def release(
        self,
        ranks: Mapping[int, RankFacts],
        numbering: Numbering,
        facts: Container[str],
        *,
        has_timeline: bool,
    ) -> Iterator[tuple[CaptureLog, Batch]]:
        """Yield the rows on the clock of the run, with devices that `numbering` knows.

        Args:
            ranks: The ranks of the timelines.
            numbering: Gives each GPU its id; a GPU that no timeline has is left out.
            facts: Keys that a timeline has said already.
            has_timeline: Whether there is anything else in the run.
        """
        origins = [
            facts_.origin_utc_ns
            for facts_ in ranks.values()
            if facts_.origin_utc_ns is not None
        ]
        for log, batches in self._held:
            if has_timeline and not origins:
                log.diagnose(
                    "warning",
                    "the samples beside the timeline are left out: it does not tell "
                    "its time in UTC",
                )
            numbering.begin_capture()
            dropped: set[int] = set()
            for batch in batches:
                rows = batch.rows
                rank = batch.rank
                if batch.table == "device":
                    rows, unknown = numbering.known_devices(rows)
                    dropped |= unknown
                elif batch.table == "run_fact":
                    rows = _without(rows, "key", facts)
                    rank = rank if rank in ranks else min(ranks)
                elif has_timeline and not origins:
                    log.skip("row", "sampled beside a timeline without UTC", len(rows))
                    continue
                else:
                    kept = _without(rows, "device_id", dropped)
                    log.skip(
                        "row",
                        "sampled of a GPU that the timeline does not have",
                        rows.num_rows - kept.num_rows,
                    )
                    rows = _shifted(kept, -min(origins, default=0))
                yield log, Batch(batch.table, rank, rows)


def _without(
    rows: pa.RecordBatch, column: str, values: Container[object]
) -> pa.RecordBatch:
    kept = map_distinct(
        rows.column(column), lambda value: value not in values, pa.bool_()
    )
    return rows.filter(pc.fill_null(kept, fill_value=True))


def _shifted(rows: pa.RecordBatch, by_ns: int) -> pa.RecordBatch:
    index = rows.schema.get_field_index("time_ns")
    times = pc.add(rows.column(index), pa.scalar(by_ns, pa.int64()))
    return rows.set_column(index, "time_ns", times)
