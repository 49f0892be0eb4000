"""Nsight Compute: the report itself, read by NVIDIA's `ncu-report` package."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import msgspec

from tracekit.convert.counters.metric_rows import Launch, MetricRows, Shape, Value
from tracekit.convert.counters.ncu import (
    PASSES,
    TOOL,
    Devices,
    explain_absence,
    is_attribute,
)
from tracekit.convert.counters.numbers import base_unit
from tracekit.convert.readers.base import Batch, Reading
from tracekit.errors import MissingToolError, UnreadableTraceError

_MAGIC = b"NVR\0"
_PROGRAM = "tracekit.convert.counters.ncu_report_program"
_NO_NUMBER = "the value is no number (n/a, nan, text)"

Metrics = dict[str, tuple[int | float | str | None, str | None]]


class _Result(msgspec.Struct):
    """What was measured of one kernel; no name for work that is no kernel."""

    name: str | None
    symbol: str | None = None
    metrics: Metrics = {}


class NcuReportReader:
    """Reads `.ncu-rep`, whose format only NVIDIA's own code knows."""

    name: ClassVar[str] = "ncu-report"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file begins as a report does."""
        if not capture.is_file():
            return False
        with capture.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield rows of `kernel_metric`, `device` and `run_fact`; see `Reader.read`.

        Raises:
            MissingToolError: The package is not installed.
            UnreadableTraceError: The package cannot read the file.
        """
        if find_spec("ncu_report") is None:
            raise MissingToolError(
                f"reading {reading.name} needs NVIDIA's package ncu-report",
                hint="pip install 'tracekit[ncu]', or export it: "
                f"ncu --csv --page raw --import {reading.name} > counters.ncu.csv",
            )
        log = reading.log
        log.has_timeline = False
        explain_absence(reading.tables, log)
        rows, devices, count = MetricRows(TOOL), Devices(), 0
        for result in _results(capture, reading.name):
            if result.name is None:
                log.skip("ncu", "a result of a graph or of a range, not of a kernel")
                continue
            launch = _launch(count, result, devices)
            values = []
            wants_attributes = not devices.is_known(launch.device_id)
            for metric, (value, unit) in result.metrics.items():
                if is_attribute(metric):
                    if wants_attributes:
                        devices.note(launch.device_id, metric, str(value))
                elif isinstance(value, int | float):
                    base = base_unit(unit or "")
                    scaled = value * 10.0**base.exponent if base.exponent else value
                    values.append(Value(metric, base.name or None, float(scaled)))
                elif value:
                    log.skip(metric, _NO_NUMBER)
            rows.add(launch, values)
            count += 1
            if rows.is_full:
                yield Batch("kernel_metric", 0, rows.take())
        if count == 0 and not log.skipped:
            # NVIDIA's code takes what is cut short for empty.
            raise UnreadableTraceError(
                f"{reading.name} holds no results: it is cut short, or no kernel was "
                "profiled",
                hint="copy it again",
            )
        yield Batch("kernel_metric", 0, rows.take())
        yield from devices.batches()


def _results(capture: Path, name: str) -> Iterator[_Result]:
    decode = msgspec.json.Decoder(_Result).decode
    with subprocess.Popen(
        [sys.executable, "-m", _PROGRAM, str(capture.absolute())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        for line in program.stdout:
            try:
                yield decode(line)
            except msgspec.DecodeError:
                # NVIDIA's code prints to the same stream.
                continue
        said = program.stderr.read().decode("utf-8", "replace").strip()
    if program.returncode:
        why = said.splitlines()[-1] if said else f"it ended with {program.returncode}"
        raise UnreadableTraceError(
            f"NVIDIA's ncu-report cannot read {name}: {why[:300]}",
            hint="copy it again, or install the ncu-report that is as new as the ncu "
            "that wrote it",
        )


def _launch(index: int, result: _Result, devices: Devices) -> Launch:
    def number(name: str) -> int | None:
        value = result.metrics.get(name, (None, None))[0]
        is_small = isinstance(value, int | float) and 0 <= value < 2**31
        return int(value) if is_small and not isinstance(value, str | None) else None

    def shape(kind: str) -> Shape | None:
        found = [number(f"launch__{kind}_dim_{axis}") for axis in "xyz"]
        x, y, z = found
        return None if x is None or y is None or z is None else (x, y, z)

    ordinal = number("launch__device_id")
    major, minor = (
        number(f"device__attribute_compute_capability_{part}")
        for part in ("major", "minor")
    )
    return Launch(
        index=index,
        name=result.name,
        mangled_name=result.symbol or None,
        grid=shape("grid"),
        block=shape("block"),
        device_id=devices.device(
            None if ordinal is None else str(ordinal),
            None if major is None or minor is None else f"{major}.{minor}",
        ),
        passes=number(PASSES),
    )
