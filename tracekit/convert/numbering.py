"""Makes the dense ids of several captures unique in their run."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct

_SHIFTED = {
    "process_id": "process",
    "end_process_id": "process",
    "thread_id": "thread",
    "end_thread_id": "thread",
    "forward_thread_id": "thread",
    "call_stack_id": "call_stack",
}
_DEVICES = ("device_id", "source_device_id", "destination_device_id")


class Numbering:
    """Ids of the captures of one run.

    Process, thread and stack ids of a later capture are moved behind those of the
    earlier ones. A GPU is one device whichever capture it is in: it is told by its
    UUID, or by its host and bus address.
    """

    def __init__(self) -> None:
        self._base: dict[str, int] = {}
        self._next: dict[str, int] = {}
        self._device_of: dict[int, int] = {}
        self._devices = 0
        self._known: dict[tuple[str, str], int] = {}
        self._rows: dict[int, dict[str, Any]] = {}
        self._captures = 0

    def begin_capture(self) -> None:
        """Start the ids of the next capture; those of the first stay as they are."""
        self._captures += 1
        self._base = dict(self._next)
        self._device_of = {}

    def renumber(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with ids that are unique in the run."""
        for index, name in enumerate(rows.schema.names):
            column = rows.column(index)
            if name in _SHIFTED:
                kind = _SHIFTED[name]
                base = self._base.get(kind, 0)
                highest = pc.max(column).as_py()
                if highest is not None:
                    top = base + highest + 1
                    self._next[kind] = max(self._next.get(kind, 0), top)
                if base:
                    moved = pc.add(column, pa.scalar(base, column.type))
                    rows = rows.set_column(index, name, moved)
            elif name in _DEVICES:
                mapped = map_distinct(column, self._device, pa.int32())
                rows = rows.set_column(index, name, mapped)
        return rows

    def new_devices(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return those rows of `device` that no earlier capture had.

        The rows have the ids of their capture; they are learned.
        """
        fresh = [self._is_fresh(row) for row in rows.to_pylist()]
        return rows.filter(pa.array(fresh, pa.bool_()))

    def known_devices(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, set[int]]:
        """Learn rows of `device` of a capture that only adds to what others recorded.

        Returns:
            The rows if no other capture has devices, else none of them; and the ids,
            as in the rows, of GPUs that the other captures do not have.
        """
        found = rows.to_pylist()
        if not self._rows:
            return rows, set()
        unknown = set()
        for row in found:
            alike = [
                device
                for device, known in self._rows.items()
                if _may_be_one(known, row)
            ]
            # A device that says nothing of itself is the only one there is.
            sure = [device for device in alike if _is_told(self._rows[device], row)]
            if not sure and len(found) == len(self._rows) == 1:
                sure = alike
            if len(sure) == 1:
                self._device_of[row["device_id"]] = sure[0]
            else:
                unknown.add(row["device_id"])
        return rows.slice(0, 0), unknown

    def _is_fresh(self, row: dict[str, Any]) -> bool:
        local = row["device_id"]
        identity = _identity(row)
        known = None if identity is None else self._known.get(identity)
        if known is not None:
            self._device_of[local] = known
            return False
        device = self._device(local)
        self._rows[device] = row
        if identity is not None:
            self._known[identity] = device
        return True

    def _device(self, local: int) -> int:
        found = self._device_of.get(local)
        if found is None:
            found = local if self._captures == 1 else self._devices
            self._device_of[local] = found
            self._devices = max(self._devices, found + 1)
        return found


def _identity(row: dict[str, Any]) -> tuple[str, str] | None:
    if row["uuid"]:
        return "", row["uuid"]
    return (row["host"] or "", row["bus"]) if row["bus"] else None


def _may_be_one(known: dict[str, Any], row: dict[str, Any]) -> bool:
    """Tell whether nothing that two descriptions of a GPU say differs."""
    if known["uuid"] and row["uuid"]:
        return bool(known["uuid"] == row["uuid"])
    return all(
        not known[name] or not row[name] or known[name] == row[name]
        for name in ("bus", "name", "host")
    )


def _is_told(known: dict[str, Any], row: dict[str, Any]) -> bool:
    return any(known[name] and known[name] == row[name] for name in ("uuid", "bus"))
