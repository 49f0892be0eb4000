"""TF1's timeline: `tensorflow.python.client.timeline` on a `RunMetadata`.

Its processes are `<device> Compute`, and on a GPU `<device>/stream:<number> Compute`,
`<device>/stream:all Compute`, which has the same events once more, and
`<device>/memcpy Compute`. Its threads are lanes of the picture, no threads.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracekit.convert.readers.base import CaptureLog
from tracekit.convert.row_batches import RowBatches
from tracekit.convert.xplane.details import copy_details
from tracekit.convert.xplane.space import Event

_PROCESS = re.compile(
    r"(?:/job:\S*)?/(?:device:)?(?P<kind>[CcGg][Pp][Uu]):(?P<ordinal>\d{1,9})"
    r"(?:/stream:(?P<stream>all|\d{1,9})|(?P<memcpy>/memcpy))? (?P<what>\w+)"
)


def is_timeline(process: str) -> bool:
    """Tell whether a process is one of TF1's timeline."""
    return process == "Allocators" or _PROCESS.fullmatch(process) is not None


@dataclass
class TimelineReader:
    """Reads the events of a timeline.

    Attributes:
        rank: The rank.
        process_id: The process.
        device_ids: device_id by kind and ordinal.
        batches: Takes the rows.
        log: Takes what was skipped.
        processes: Name of each process of the trace.
    """

    rank: int
    process_id: int
    device_ids: Mapping[tuple[str, int], int]
    batches: RowBatches
    log: CaptureLog
    processes: Mapping[int | str | None, str]

    def __post_init__(self) -> None:
        self._with_streams = _with_streams(self.processes.values())

    def read(self, event: Event, process: str) -> None:
        """Read an event of a process."""
        parts = _PROCESS.fullmatch(process)
        if parts is None or parts["what"] != "Compute":
            self.log.skip(f"events of {process}", "tensors, as they were made")
            return
        ordinal = int(parts["ordinal"])
        stream = parts["stream"]
        row = {
            "process_id": self.process_id,
            "device_id": self.device_ids.get((parts["kind"].upper(), ordinal)),
            "start_ns": event.start_ns,
            "end_ns": event.end_ns,
        }
        node = event.text("name")
        if parts["memcpy"]:
            copy = copy_details(event.name, "")
            self._add("memcpy", {**row, **copy})
        elif stream == "all" and ordinal in self._with_streams:
            self.log.skip("events of stream:all", "each is in its own stream too")
        elif stream is not None:
            number = int(stream) if stream != "all" else None
            name = event.name or None
            kernel = {"stream_id": number, "name": name, "canonical_name": name}
            self._add("kernel", {**row, **kernel, "operator_name": node})
        else:
            self._add("operator", {**row, "name": event.name or None, "scope": node})

    def _add(self, table: str, row: dict[str, object]) -> None:
        self.batches.add(table, self.rank, row)


def _with_streams(processes: Iterable[str]) -> frozenset[int]:
    """Return the GPUs whose streams are listed one by one."""
    found = (_PROCESS.fullmatch(process) for process in processes)
    return frozenset(
        int(parts["ordinal"])
        for parts in found
        if parts is not None and (parts["stream"] or "all") != "all"
    )
