"""What records of iterations tell of the steps that a capture shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts
from tracekit.schema import TABLES


@dataclass
class _Record:
    """One record: who kept it, and its steps by number."""

    log: CaptureLog
    os_pid: int | None = None
    steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)


class ToldSteps:
    """The records of a conversion.

    A step of a capture gets samples and unit from the record of its process, by its
    number; without one, from the only record there is. Records are read before the
    captures.
    """

    def __init__(self) -> None:
        self._records: list[_Record] = []
        self._processes: dict[int, int] = {}

    def hold(self, log: CaptureLog, batch: Batch) -> bool:
        """Take rows of a record; tell whether they need no further care."""
        if batch.table not in ("step", "process"):
            return False
        if not self._records or self._records[-1].log is not log:
            self._records.append(_Record(log))
        record = self._records[-1]
        for row in batch.rows.to_pylist():
            if batch.table == "process":
                record.os_pid = row["os_pid"]
            else:
                record.steps.setdefault(row["step_index"], row)
        return True

    def look(self, rows: pa.RecordBatch) -> None:
        """Note the processes of a capture, numbered for the run."""
        if self._records:
            ids = zip(
                rows.column("process_id").to_pylist(),
                rows.column("os_pid").to_pylist(),
                strict=True,
            )
            self._processes.update((own, pid) for own, pid in ids if pid is not None)

    def tell(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of `step` with what the records say of them."""
        if not self._records:
            return rows
        found = rows.to_pylist()
        for row in found:
            record = self._record_of(row["process_id"])
            step = record.steps.get(row["step_index"]) if record else None
            if record is not None and step is not None and row["samples"] is None:
                row["samples"], row["unit"] = step["samples"], step["unit"]
                record.used.add(row["step_index"])
        return pa.RecordBatch.from_pylist(found, TABLES["step"].arrow)

    def _record_of(self, process: int | None) -> _Record | None:
        pid = None if process is None else self._processes.get(process)
        if pid is not None:
            for record in self._records:
                if record.os_pid == pid:
                    return record
        only = self._records[0] if len(self._records) == 1 else None
        # In a namespace of its own a process has another number than outside.
        if only is not None and only.os_pid in self._processes.values():
            return None
        return only

    def own_steps(self, ranks: Mapping[int, RankFacts]) -> list[dict[str, Any]]:
        """Return the records' own steps, for captures that show none.

        Args:
            ranks: The ranks of the captures; none where there are only records.
        """
        if not any(record.steps for record in self._records):
            return []
        origin = ranks[min(ranks)].origin_utc_ns if ranks else 0
        if origin is None:
            self._records[0].log.diagnose(
                "warning",
                "the steps of the record have no place: the capture tells no UTC time",
            )
            return []
        known = {pid: own for own, pid in self._processes.items()}
        return [
            {
                **step,
                "process_id": known.get(record.os_pid or -1, None if known else 0),
                "start_ns": step["start_ns"] - origin,
                "end_ns": step["end_ns"] - origin,
            }
            for record in self._records
            for step in record.steps.values()
        ]

    def describe(self) -> list[dict[str, Any]]:
        """Return the processes of records without a capture."""
        return [
            {"process_id": 0, "os_pid": record.os_pid} for record in self._records[:1]
        ]
