"""nvprof: what `nvprof --metrics ... --csv` prints, totals and launch by launch."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

from tracekit.convert.counters.csv_tables import Line, has_table, read_lines
from tracekit.convert.counters.metric_rows import Launch, MetricRows, Value
from tracekit.convert.counters.ncu import explain_absence, shape
from tracekit.convert.counters.numbers import decimal_mark, number
from tracekit.convert.nsys.mapping import rows_of
from tracekit.convert.readers.base import Batch, Reading
from tracekit.errors import UnreadableTraceError
from tracekit.schema import HOST_RANK, TABLES

_TOOL = "nvprof"
_NO_NUMBER = "the value is no number (n/a, nan, text)"
_ROWS_FOR_LOCALE = 2000
# A device as it is printed: its name and its ordinal.
_DEVICE = re.compile(r"(?P<name>.*\S)\s*\((?P<ordinal>\d{1,9})\)")
# A level of use: `Low (2)`; a number with its unit: `98.12%`, `1.25GB/s`.
_LEVEL = re.compile(r"[A-Za-z]+ \((?P<value>\d+)\)")
_MEASURED = re.compile(
    r"(?P<value>[\d.,]+(?:[eE][+-]?\d+)?)(?P<unit>%|[A-Za-z][\w/]*)?"
)
_COUNTERS = ("Metric Name", "Event Name")
_IDENTITY = frozenset(
    {
        *("Device", "Context", "Stream", "Kernel", "Name", "Correlation_ID"),
        *("Start", "Duration", "Grid Size", "Block Size", "Regs", "SSMem", "DSMem"),
        *("Grid X", "Grid Y", "Grid Z", "Block X", "Block Y", "Block Z"),
        *("Registers Per Thread", "Static SMem", "Dynamic SMem", "Size"),
        *("Throughput", "SrcMemType", "DstMemType", "Src Dev", "Src Ctx"),
        *("Dst Dev", "Dst Ctx", "Unified Memory", "Virtual Address"),
    }
)
_ERROR = re.compile(r"==\d*==\s*(?P<kind>Error|Warning):\s*(?P<text>.*)")


class NvprofCsvReader:
    """Reads the tables of metrics and events that nvprof prints."""

    name: ClassVar[str] = "nvprof-csv"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file has a table of nvprof's counters."""
        return has_table(capture, _is_header)

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield rows of `kernel_metric` and `device`; see `Reader.read`."""
        reading.log.has_timeline = False
        explain_absence(reading.tables, reading.log)
        table = _Tables(capture, reading)
        for _ in table.read():
            if table.rows.is_full:
                yield Batch("kernel_metric", 0, table.rows.take())
        if table.count == 0:
            raise UnreadableTraceError(
                f"{capture.name} holds no row of counters: no kernel was profiled"
            )
        yield Batch("kernel_metric", 0, table.rows.take())
        devices = [
            {"device_id": device, "name": name}
            for name, device in table.devices.items()
        ]
        yield Batch("device", HOST_RANK, rows_of(TABLES["device"], devices))


class _Tables:
    """The state of reading one file.

    Attributes:
        rows: Takes the metrics.
        devices: Dense ids of the GPUs, by name and ordinal.
        count: Rows that were read.
    """

    def __init__(self, capture: Path, reading: Reading) -> None:
        self.rows = MetricRows(_TOOL)
        self.devices: dict[str, int] = {}
        self.count = 0
        self._launches = 0
        self._capture = capture
        self._log = reading.log
        first = islice(
            read_lines(capture, _is_header, lambda _: None), _ROWS_FOR_LOCALE
        )
        self._mark = decimal_mark(_printed_numbers(first))
        self._device_of: dict[str, int] = {}

    def read(self) -> Iterator[None]:
        """Read the file; yields after each row."""
        units: dict[str, str] = {}
        header: tuple[str, ...] | None = None
        for line in read_lines(self._capture, _is_header, self._message):
            if line.header is not header:
                header, units = line.header, {}
            if not line.is_whole:
                self._log.skip(_TOOL, "a line that is no row of the table")
                continue
            cells = dict(zip(line.header, line.cells, strict=True))
            if not cells["Device"]:
                # Under the header of a trace stand the units.
                units = cells
                continue
            self.count += 1
            counter = next((name for name in _COUNTERS if name in cells), None)
            if counter is None:
                self._launch(cells, units)
            else:
                self._total(cells, cells[counter])
            yield

    def _total(self, cells: dict[str, str], metric: str) -> None:
        """Read a metric over all launches of a kernel."""
        mean, low, high = (
            self._value(metric, cells.get(name, "")) for name in ("Avg", "Min", "Max")
        )
        if mean is None:
            self._log.skip(metric, _NO_NUMBER)
            return
        invocations = number(cells.get("Invocations", ""), self._mark)
        launch = Launch(
            index=None,
            name=cells.get("Kernel"),
            device_id=self._device(cells["Device"]),
            launches=None if invocations is None else int(invocations),
        )
        limits = (None if end is None else end.value for end in (low, high))
        self.rows.add(launch, [Value(metric, mean.unit, mean.value, *limits)])

    def _launch(self, cells: dict[str, str], units: dict[str, str]) -> None:
        """Read the metrics of one launch."""
        name = cells.get("Kernel") or cells.get("Name")
        values = []
        for metric, printed in cells.items():
            if metric in _IDENTITY or not printed.strip():
                continue
            found = self._value(metric, printed)
            if found is None:
                self._log.skip(metric, _NO_NUMBER)
            else:
                unit = found.unit or units.get(metric) or None
                values.append(found._replace(unit=unit))
        if not values:
            # Copies and fills stand in a trace too.
            return
        launch = Launch(
            index=self._launches,
            name=name,
            mangled_name=name if name and name.startswith("_Z") else None,
            grid=_shape(cells, "Grid"),
            block=_shape(cells, "Block"),
            device_id=self._device(cells["Device"]),
        )
        self._launches += 1
        self.rows.add(launch, values)

    def _value(self, metric: str, printed: str) -> Value | None:
        text = printed.strip()
        level = _LEVEL.fullmatch(text)
        if level is not None:
            return Value(metric, "level", float(level["value"]))
        match = _MEASURED.fullmatch(text)
        parsed = None if match is None else number(match["value"], self._mark)
        if match is None or parsed is None:
            return None
        return Value(metric, match["unit"], float(parsed))

    def _device(self, printed: str) -> int:
        found = self._device_of.get(printed)
        if found is None:
            found = self._device_of[printed] = len(self._device_of)
            match = _DEVICE.fullmatch(printed.strip())
            name = printed.strip() if match is None else match["name"]
            # Two of one model are two devices.
            self.devices[name if name not in self.devices else printed] = found
        return found

    def _message(self, line: str) -> None:
        match = _ERROR.match(line)
        if match is not None:
            self._log.diagnose(match["kind"].lower(), f"nvprof: {match['text']}")


def _is_header(columns: frozenset[str]) -> bool:
    if "Device" not in columns:
        return False
    if columns & set(_COUNTERS):
        return {"Kernel", "Invocations"} <= columns
    named = "Kernel" in columns or "Name" in columns
    # A trace without counters is a timeline rounded for reading.
    return named and {"Context", "Stream"} <= columns and bool(columns - _IDENTITY)


def _shape(cells: dict[str, str], kind: str) -> tuple[int, int, int] | None:
    if f"{kind} Size" in cells:
        return shape(cells[f"{kind} Size"])
    return shape(" ".join(cells.get(f"{kind} {axis}", "") for axis in "XYZ"))


def _printed_numbers(lines: Iterator[Line]) -> Iterator[str]:
    """Yield the cells that hold values, without their units."""
    for line in lines:
        for column, cell in zip(line.header, line.cells, strict=False):
            if column in ("Min", "Max", "Avg") or column not in _IDENTITY:
                match = _MEASURED.fullmatch(cell.strip())
                if match is not None:
                    yield match["value"]
