"""PyTorch: what `tracekit collect --memory` records."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.readers.base import Batch, RankFacts, Reading
from tracekit.convert.row_batches import RowBatches, signed64
from tracekit.convert.torch.memory_capture import (
    MARK,
    blocks_of,
    read_capture,
    rows_of_events,
)
from tracekit.schema import HOST_RANK, TABLES

_MADE = frozenset(
    {"memory_event", "module", "step", "device", "context", "process", "run_fact"}
    | {"counter_sample", "clock", "rejected", "diagnostic"}
)
_NOT_MEMORY = "a memory capture holds allocations and what they were for"


class TorchMemoryReader:
    """Reads memory captures of PyTorch processes."""

    name: ClassVar[str] = "torch-memory"

    def accepts(self, capture: Path) -> bool:
        """Tell from the first bytes whether it is such a capture."""
        if not capture.is_file():
            return False
        with capture.open("rb") as file:
            return file.read(len(MARK)) == MARK

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        content = read_capture(capture, reading.name)
        log = reading.log
        rank = content.rank or 0
        log.tools["torch"] = content.torch
        log.start_utc_ns = content.start_ns
        source = "none" if content.rank is None else "environment"
        log.ranks[rank] = RankFacts(source, origin_utc_ns=0)
        rows = RowBatches(reading)
        devices = {
            device.ordinal: number for number, device in enumerate(content.devices)
        }
        for device in content.devices:
            rows.add(
                "device",
                HOST_RANK,
                {
                    "device_id": devices[device.ordinal],
                    "name": device.name,
                    "uuid": device.uuid,
                    "memory_bytes": device.memory_bytes,
                },
            )
            rows.add(
                "context",
                rank,
                {
                    "process_id": 0,
                    "device_id": devices[device.ordinal],
                    "cuda_ordinal": device.ordinal,
                },
            )
            for what in ("max_allocated", "max_reserved"):
                value = getattr(device, what)
                rows.add(
                    "run_fact",
                    rank,
                    {
                        "key": f"memory.{what}_bytes.{device.ordinal}",
                        "value": None if value is None else str(value),
                        "source": f"torch.cuda.max_memory_{what.removeprefix('max_')}",
                    },
                )
        rows.add("process", rank, {"process_id": 0, "os_pid": content.pid})
        for index, (start, end) in enumerate(content.steps):
            rows.add(
                "step",
                rank,
                {
                    "step_index": index,
                    "process_id": 0,
                    "start_ns": start,
                    "end_ns": end,
                    "source": "profiler",
                },
            )
        for layer, start, end, _ in content.modules:
            if 0 <= layer < len(content.layers):
                path = content.layers[layer]
                rows.add(
                    "module",
                    rank,
                    {
                        "process_id": 0,
                        "name": path,
                        "path": path,
                        "phase": "forward",
                        "start_ns": start,
                        "end_ns": end,
                    },
                )
        for time, ordinal, used in content.used:
            rows.add(
                "counter_sample",
                HOST_RANK,
                {
                    "source": "cuda",
                    "device_id": devices.get(ordinal),
                    "time_ns": time,
                    "metric": "memory_used",
                    "unit": "B",
                    "value": used,
                },
            )
        yield from rows.full()
        for row in rows_of_events(content, blocks_of(content), devices):
            row["address"] = signed64(row["address"])
            rows.add("memory_event", rank, row)
            yield from rows.full()
        yield from rows.rest()
        for table in TABLES.keys() - _MADE:
            log.absent[table] = _NOT_MEMORY
