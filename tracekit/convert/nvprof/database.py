"""What every table of an nvprof database refers to: strings, processes, devices."""

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
from tracekit.convert.nsys.sqlite_export import SqliteExport
from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import CaptureLog, RankFacts, Reading

PREFIX = "CUPTI_ACTIVITY_KIND_"
# The object that a record is of: a process, a thread, a device, a context, a stream.
PROCESS, THREAD, DEVICE, CONTEXT, STREAM = 1, 2, 3, 4, 5
_CALLS = ("RUNTIME", "DRIVER")
_NO_STRING = "-- null --"


def owner_of(object_id: bytes | None) -> tuple[int, int] | None:
    """Return process id and thread id of a record's object.

    CUPTI's union holds two or three unsigned 32-bit numbers; thread ids are the lower
    half of a pthread id.
    """
    if object_id is None or len(object_id) < 8:
        return None
    process, thread = struct.unpack_from("<II", object_id)
    return process, thread


class Database:
    """An nvprof database, with dense ids for what is met in it.

    Args:
        export: The tables.
        reading: What is wanted, and where facts go.
    """

    def __init__(self, export: SqliteExport, reading: Reading) -> None:
        self.export = export
        self.log: CaptureLog = reading.log
        self.strings = self._strings()
        named = rank_in_name(reading.name)
        self.rank = named or 0
        self.log.ranks[self.rank] = RankFacts(
            source="none" if named is None else "file_name",
            # Times count from the Unix epoch.
            origin_utc_ns=0,
        )
        self.processes: dict[int, int] = {}
        self.threads: dict[tuple[int, int], int] = {}
        self.devices: dict[int, int] = {}
        self._process_of: dict[int, int] = {}
        self.device_of_context: dict[int, int] = {}
        for row in self.rows("DEVICE", ("id",)):
            if row["id"] is not None:
                self.device(row["id"])
        for context in self.rows("CONTEXT", ("contextId", "deviceId")):
            if None not in context.values():
                device = self.device(context["deviceId"])
                self.device_of_context[context["contextId"]] = device
        self._learn_processes()

    def columns(self, table: str) -> frozenset[str]:
        """Return the columns of a table, named without its prefix."""
        return self.export.columns(PREFIX + table)

    def batches(
        self, table: str, numbers: tuple[str, ...], blobs: tuple[str, ...] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield those columns of a table that it has, NULL for those it lacks."""
        present = self.columns(table)
        kinds = {
            **dict.fromkeys(numbers, pa.int64()),
            **dict.fromkeys(blobs, pa.binary()),
        }
        if not present:
            return
        wanted = pa.schema([(n, kind) for n, kind in kinds.items() if n in present])
        if not wanted.names:
            return
        for batch in self.export.batches(PREFIX + table, wanted):
            full = [
                batch.column(name)
                if name in present
                else pa.nulls(batch.num_rows, kind)
                for name, kind in kinds.items()
            ]
            yield pa.RecordBatch.from_arrays(full, names=list(kinds))

    def rows(
        self, table: str, numbers: tuple[str, ...], blobs: tuple[str, ...] = ()
    ) -> Iterator[dict[str, Any]]:
        """Yield rows of a small table."""
        for batch in self.batches(table, numbers, blobs):
            yield from batch.to_pylist()

    def text(self, string: int | None) -> str | None:
        """Return a string by its id."""
        return None if string is None else self.strings.get(string)

    def device(self, ordinal: int) -> int:
        """Return the dense id of a device by its ordinal."""
        return self.devices.setdefault(ordinal, len(self.devices))

    def process(self, os_pid: int) -> int:
        """Return the dense id of a process."""
        return self.processes.setdefault(os_pid, len(self.processes))

    def thread(self, os_pid: int, thread: int) -> int:
        """Return the dense id of a thread by its process and recorded id."""
        key = (os_pid, thread & 0xFFFFFFFF)
        self.process(os_pid)
        return self.threads.setdefault(key, len(self.threads))

    def process_ids(self, correlations: pa.Array) -> pa.Array:
        """Return the process of GPU work, which no table of it names."""
        if len(self.processes) == 1 or not self._process_of:
            (only,) = self.processes.values() if len(self.processes) == 1 else (None,)
            return pa.repeat(pa.scalar(only, pa.int32()), len(correlations))
        return map_distinct(correlations, self._process_of.get, pa.int32())

    def threads_of(self, pids: pa.Array, tids: pa.Array) -> pa.Array:
        """Return dense thread ids for columns of process and thread ids."""
        low = pc.bit_wise_and(tids, 0xFFFFFFFF)
        key = pc.bit_wise_or(pc.shift_left(pids, 32), low)
        return map_distinct(key, lambda both: self.thread(both >> 32, both), pa.int32())

    def _strings(self) -> dict[int, str]:
        wanted = pa.schema([("_id_", pa.int64()), ("value", pa.string())])
        if not {"_id_", "value"} <= self.export.columns("StringTable"):
            return {}
        return {
            row["_id_"]: row["value"]
            for batch in self.export.batches("StringTable", wanted)
            for row in batch.to_pylist()
            if row["value"] is not None and row["value"] != _NO_STRING
        }

    def _learn_processes(self) -> None:
        for row in self.rows("NAME", ("objectKind",), ("objectId",)):
            owner = owner_of(row["objectId"])
            if row["objectKind"] == PROCESS and owner is not None:
                self.process(owner[0])
        for table in _CALLS:
            for batch in self.batches(table, ("processId",)):
                for os_pid in (
                    batch.column("processId").unique().drop_null().to_pylist()
                ):
                    self.process(os_pid)
        if len(self.processes) < 2:
            return
        shared: set[int] = set()
        for table in _CALLS:
            for batch in self.batches(table, ("processId", "correlationId")):
                for os_pid, correlation in zip(
                    *(column.to_pylist() for column in batch.columns), strict=True
                ):
                    if os_pid is None or correlation is None:
                        continue
                    process = self.process(os_pid)
                    if self._process_of.setdefault(correlation, process) != process:
                        shared.add(correlation)
        # An id that two processes used tells neither.
        for correlation in shared:
            del self._process_of[correlation]
