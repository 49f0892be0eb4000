"""Nsight Compute: what `ncu --csv` prints, `--page raw` and `--page details`."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

from tracekit.convert.counters.csv_tables import Line, has_table, read_lines
from tracekit.convert.counters.metric_rows import Launch, MetricRows, Value
from tracekit.convert.counters.ncu import (
    PASSES,
    TOOL,
    Devices,
    explain_absence,
    is_attribute,
    shape,
    value,
)
from tracekit.convert.counters.numbers import decimal_mark, number
from tracekit.convert.readers.base import Batch, CaptureLog, Reading
from tracekit.errors import UnreadableTraceError

_ROWS_FOR_LOCALE = 2000
_LONGEST_MESSAGE = 300
_NO_NUMBER = "the value is no number (n/a, nan, text)"
_RANGES = (":Push/Pop_Range:", ":Start/Stop_Range:")
_IDENTITY = frozenset(
    {
        "ID",
        "Process ID",
        "Process Name",
        "Host Name",
        "Kernel Name",
        "Kernel Time",
        "Context",
        "Stream",
        "Block Size",
        "Grid Size",
        "Device",
        "CC",
        "Section Name",
        "Invocations",
    }
)
_NUMBERS = frozenset({"Metric Value", "Minimum", "Maximum", "Average"})


class NcuCsvReader:
    """Reads the CSV pages of Nsight Compute, one launch or one metric a row."""

    name: ClassVar[str] = "ncu-csv"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file has a table of ncu, or ncu's messages."""
        return has_table(capture, _is_header, "==PROF==")

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield rows of `kernel_metric`, `device` and `run_fact`; see `Reader.read`."""
        reading.log.has_timeline = False
        explain_absence(reading.tables, reading.log)
        page = _Page(capture, reading)
        for _ in page.read():
            if page.rows.is_full:
                yield Batch("kernel_metric", 0, page.rows.take())
        if page.count == 0:
            raise _without_table(capture, page.errors)
        yield Batch("kernel_metric", 0, page.rows.take())
        yield from page.devices.batches(page.mark)


class _Page:
    """The state of reading one file.

    Attributes:
        rows: Takes the metrics.
        devices: Takes the attributes of GPUs.
        count: Launches, and kernels with totals, so far.
        errors: What ncu printed as errors.
        mark: What parts the decimals.
    """

    def __init__(self, capture: Path, reading: Reading) -> None:
        self.rows = MetricRows(TOOL)
        self.devices = Devices()
        self.count = 0
        self.errors: list[str] = []
        self._capture = capture
        self._log: CaptureLog = reading.log
        first = islice(
            read_lines(capture, _is_header, lambda _: None), _ROWS_FOR_LOCALE
        )
        self.mark = decimal_mark(_printed_numbers(first))
        self._header: tuple[str, ...] | None = None
        self._units: dict[str, str] = {}
        # A details page has several rows a launch; the key of the one being read.
        self._key: tuple[str, ...] | None = None
        self._values: list[Value] = []
        self._launch: Launch | None = None

    def read(self) -> Iterator[None]:
        """Read the file; yields after each row, so that batches can be taken."""
        for line in read_lines(self._capture, _is_header, self._message):
            if line.header is not self._header:
                self._finish_launch()
                self._header, self._units, self._key = line.header, {}, None
            if not line.is_whole:
                self._log.skip("ncu", "a line that is no row of the table")
                continue
            cells = dict(zip(line.header, line.cells, strict=True))
            if not cells["Kernel Name"] and not cells.get("ID"):
                # The second line of a raw page holds the units.
                self._units = cells
            elif "Metric Name" not in cells:
                self._wide(cells)
            elif "Average" in cells:
                self._total(cells)
            else:
                self._long(cells)
            yield
        self._finish_launch()

    def _wide(self, cells: dict[str, str]) -> None:
        """Read a launch whose metrics are columns."""
        launch = self._launch_of(cells)
        wants_attributes = not self.devices.is_known(launch.device_id)
        values = []
        for metric, printed in cells.items():
            if metric in _IDENTITY or any(part in metric for part in _RANGES):
                continue
            if is_attribute(metric):
                if wants_attributes:
                    self.devices.note(launch.device_id, metric, printed)
                continue
            found = self._value(metric, self._units.get(metric, ""), printed)
            if found is not None:
                values.append(found)
        self.rows.add(launch, values)
        self.count += 1

    def _long(self, cells: dict[str, str]) -> None:
        """Read one metric of a launch."""
        key = tuple(cells.get(name, "") for name in ("Process ID", "ID", "Kernel Name"))
        if key != self._key:
            self._finish_launch()
            self._key, self._launch = key, self._launch_of(cells)
            self.count += 1
        metric = cells["Metric Name"]
        if not metric:
            self._log.skip("ncu", "advice of ncu's rules")
            return
        printed = cells.get("Metric Value", "")
        found = self._value(metric, cells.get("Metric Unit", ""), printed)
        if found is not None:
            self._values.append(found)

    def _total(self, cells: dict[str, str]) -> None:
        """Read one metric over the launches of a kernel (`--print-summary`)."""
        invocations = number(cells.get("Invocations", ""), self.mark)
        unit = cells.get("Metric Unit", "")
        mean, low, high = (
            value(cells["Metric Name"], unit, cells.get(name, ""), self.mark)
            for name in ("Average", "Minimum", "Maximum")
        )
        self.count += 1
        if mean is None:
            self._log.skip(cells["Metric Name"], _NO_NUMBER)
            return
        launch = Launch(
            index=None,
            name=cells["Kernel Name"],
            grid=shape(cells.get("Grid Size")),
            block=shape(cells.get("Block Size")),
            device_id=self.devices.device(cells.get("Device"), cells.get("CC")),
            launches=None if invocations is None else int(invocations),
        )
        limits = (None if end is None else end.value for end in (low, high))
        self.rows.add(launch, [Value(mean.metric, mean.unit, mean.value, *limits)])

    def _launch_of(self, cells: dict[str, str]) -> Launch:
        name = cells["Kernel Name"]
        passes = number(cells.get(PASSES, ""), self.mark)
        return Launch(
            index=self.count,
            name=name,
            mangled_name=name if name.startswith("_Z") else None,
            grid=shape(cells.get("Grid Size")),
            block=shape(cells.get("Block Size")),
            device_id=self.devices.device(cells.get("Device"), cells.get("CC")),
            passes=None if passes is None or passes >= 2**31 else int(passes),
        )

    def _finish_launch(self) -> None:
        if self._launch is not None:
            self.rows.add(self._launch, self._values)
        self._launch, self._values = None, []

    def _value(self, metric: str, unit: str, printed: str) -> Value | None:
        found = value(metric, unit, printed, self.mark)
        if found is None and printed.strip():
            self._log.skip(metric, _NO_NUMBER)
        return found

    def _message(self, line: str) -> None:
        if line.startswith(("==ERROR==", "==WARNING==")):
            severity = "error" if line.startswith("==ERROR==") else "warning"
            text = line.split("==", 2)[2].strip()
            if severity == "error":
                self.errors.append(text)
            self._log.diagnose(severity, f"ncu: {text}")


def _is_header(columns: frozenset[str]) -> bool:
    if "Kernel Name" not in columns:
        return False
    return "ID" in columns or {"Invocations", "Metric Name"} <= columns


def _printed_numbers(lines: Iterator[Line]) -> Iterator[str]:
    """Yield the cells that hold values."""
    for line in lines:
        for column, cell in zip(line.header, line.cells, strict=False):
            if column in _NUMBERS or "__" in column:
                yield cell


def _without_table(capture: Path, errors: list[str]) -> UnreadableTraceError:
    if any("ERR_NVGPUCTRPERM" in text for text in errors):
        return UnreadableTraceError(
            f"{capture.name} holds no counters: the user may not read them "
            "(ERR_NVGPUCTRPERM)",
            hint="run ncu as an administrator, or allow counters to all users",
        )
    said = ": no kernel was profiled"
    if errors:
        said = f": ncu said {' '.join(errors[0].split())[:_LONGEST_MESSAGE]}"
    return UnreadableTraceError(
        f"{capture.name} holds no table of counters{said}",
        hint="ncu --csv --page raw --import report.ncu-rep > counters.csv",
    )
