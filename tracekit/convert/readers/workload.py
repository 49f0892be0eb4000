"""The record that a workload keeps of its iterations."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.workload.record import is_record, read_record


class WorkloadReader:
    """Reads what tracekit's workloads write, and any program that writes the same."""

    name: ClassVar[str] = "workload"

    def accepts(self, capture: Path) -> bool:
        """Tell from the first line whether it is such a record."""
        return is_record(capture)

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        yield from read_record(capture, reading)
