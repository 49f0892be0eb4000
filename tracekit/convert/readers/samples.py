"""What `tracekit collect` samples beside a collector: CPU, and clocks of the GPUs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
import pyarrow as pa

from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.errors import UnreadableTraceError
from tracekit.schema import HOST_RANK, TABLES
from tracekit.tools.variables import is_allowed_variable

FORMAT = 1
_MARK = b'{"tracekit_samples":'
_LINES = 2_000
_VARIABLE = "env."
_OF_GPUS = (
    ("SM clock", "Hz"),
    ("memory clock", "Hz"),
    ("power", "W"),
    ("memory used", "B"),
)


class _Gpu(msgspec.Struct):
    name: str
    uuid: str | None = None
    bus: str | None = None


class _Header(msgspec.Struct):
    tracekit_samples: int
    tracekit: str = ""
    host: str | None = None
    gpus: list[_Gpu] = []
    no_gpus: str = ""
    facts: dict[str, str] = {}


class _Line(msgspec.Struct):
    t: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    cpu_s: list[float] = []
    tree_s: float | None = None
    tree_bytes: float | None = None
    gpu: list[list[float | None]] = []
    facts: dict[str, str] = {}


class SamplesReader:
    """Reads the samples; their times are UTC, whatever the timeline's clock is."""

    name: ClassVar[str] = "samples"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file begins as such files do."""
        if not capture.is_file():
            return False
        with capture.open("rb") as file:
            return file.read(len(_MARK)) == _MARK

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`.

        Raises:
            UnreadableTraceError: The first line is damaged, or of a newer version.
        """
        with capture.open("rb") as file:
            yield from _Samples(file.readline(), reading).batches(file)


class _Samples:
    def __init__(self, first: bytes, reading: Reading) -> None:
        self._log = reading.log
        self._reading = reading
        self._rows = RowBatches(reading)
        self._rank = rank_in_name(reading.name) or 0
        try:
            header = msgspec.json.decode(first, type=_Header)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableTraceError(
                f"{reading.name} is damaged in its first line: {error}",
                hint="collect again",
            ) from error
        if header.tracekit_samples != FORMAT:
            raise UnreadableTraceError(
                f"{reading.name} is of version {header.tracekit_samples}, and this "
                f"tracekit reads version {FORMAT}",
                hint="update tracekit",
            )
        self._header = header
        self._log.is_beside = True
        self._log.has_timeline = False
        if header.tracekit:
            self._log.tools["tracekit collect"] = header.tracekit
        if header.host:
            self._log.private.hosts.add(header.host)
        self._log.driver_version = header.facts.get("driver_version")
        self._before: _Line | None = None

    def batches(self, lines: Iterator[bytes]) -> Iterator[Batch]:
        self._facts(self._header.facts)
        for number, gpu in enumerate(self._header.gpus):
            row = {"device_id": number, "host": self._header.host, "name": gpu.name}
            self._rows.add("device", HOST_RANK, {**row, "uuid": gpu.uuid} | _bus(gpu))
        if self._header.no_gpus:
            self._log.diagnose(
                "info", f"no GPU was sampled: {self._header.no_gpus.rstrip('.')}"
            )
        yield from self._rows.rest()
        decoder = msgspec.json.Decoder(_Line)
        columns = _Columns(self._header.host)
        for number, text in enumerate(lines, start=1):
            try:
                line = decoder.decode(text)
            except (msgspec.DecodeError, RecursionError):
                # The last one was being written when the machine went down.
                self._log.skip("line", "damaged or cut short")
                continue
            self._facts(line.facts)
            if line.t is not None:
                self._add(columns, line.t, line)
            if number % _LINES == 0:
                yield from self._batch(columns)
        yield from self._batch(columns)
        yield from self._rows.rest()

    def _facts(self, facts: dict[str, str]) -> None:
        for key, value in facts.items():
            variable = key.removeprefix(_VARIABLE)
            if variable != key and not is_allowed_variable(variable):
                self._log.leave_behind(
                    "environment variables", "not on the list of those that are copied"
                )
                continue
            fact = {"key": key, "value": value, "source": "collect"}
            self._rows.add("run_fact", self._rank, fact)

    def _add(self, columns: "_Columns", time_ns: int, line: _Line) -> None:
        before, self._before = self._before, line
        if before is not None and before.t is not None and time_ns > before.t:
            span_s = (time_ns - before.t) / 1e9
            for core, (last, now) in enumerate(
                zip(before.cpu_s, line.cpu_s, strict=False)
            ):
                # The kernel counts in ticks, of which one may fall to either side.
                used = min(max(now - last, 0.0) / span_s, 1.0)
                columns.add(time_ns, "CPU utilization", "1", used, cpu=core)
        for instance, metric, unit, value in (
            ("system", "CPU time", "s", sum(line.cpu_s) if line.cpu_s else None),
            ("process tree", "CPU time", "s", line.tree_s),
            ("process tree", "memory used", "B", line.tree_bytes),
        ):
            if value is not None:
                columns.add(time_ns, metric, unit, value, instance=instance)
        for device, values in enumerate(line.gpu[: len(self._header.gpus)]):
            for (metric, unit), measured in zip(_OF_GPUS, values, strict=False):
                if measured is not None:
                    columns.add(time_ns, metric, unit, measured, device=device)

    def _batch(self, columns: "_Columns") -> Iterator[Batch]:
        rows = columns.taken()
        if rows.num_rows and "counter_sample" in self._reading.tables:
            yield Batch("counter_sample", HOST_RANK, rows)


class _Columns:
    """Rows of `counter_sample`, column by column."""

    def __init__(self, host: str | None) -> None:
        self._host = host
        self._clear()

    def _clear(self) -> None:
        self._times: list[int] = []
        self._sources: list[str] = []
        self._instances: list[str | None] = []
        self._devices: list[int | None] = []
        self._cpus: list[int | None] = []
        self._metrics: list[str] = []
        self._units: list[str] = []
        self._values: list[float] = []

    def add(
        self,
        time_ns: int,
        metric: str,
        unit: str,
        value: float,
        *,
        cpu: int | None = None,
        device: int | None = None,
        instance: str | None = None,
    ) -> None:
        self._times.append(time_ns)
        self._sources.append("cpu" if device is None else "nvml")
        self._instances.append(instance)
        self._devices.append(device)
        self._cpus.append(cpu)
        self._metrics.append(metric)
        self._units.append(unit)
        self._values.append(value)

    def taken(self) -> pa.RecordBatch:
        schema = TABLES["counter_sample"].arrow
        columns = {
            "host": [self._host] * len(self._times),
            "source": self._sources,
            "instance": self._instances,
            "device_id": self._devices,
            "cpu": self._cpus,
            "time_ns": self._times,
            "metric": self._metrics,
            "unit": self._units,
            "value": self._values,
        }
        rows = pa.RecordBatch.from_pydict(
            {name: columns[name] for name in schema.names}, schema=schema
        )
        self._clear()
        return rows


def _bus(gpu: _Gpu) -> dict[str, str | None]:
    """Return the address as nsys writes it: a domain of four digits, small letters."""
    if gpu.bus is None:
        return {"bus": None}
    domain, _, rest = gpu.bus.lower().partition(":")
    with contextlib.suppress(ValueError):
        domain = f"{int(domain, 16):04x}"
    return {"bus": f"{domain}:{rest}"}
