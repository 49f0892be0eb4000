"""Reads a record of iterations: a JSON object a line, `docs/workloads.md` has them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.errors import UnreadableTraceError

_HEAD = 4096
_FIRST = re.compile(rb'\s*\{\s*"tracekit_workload"\s*:\s*\d')
_LARGEST_LINE = 1 << 20
_KNOWN_VERSION = 1
_PREFIX = "workload"

_Time = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class _First(msgspec.Struct):
    """What the first line must have; whatever else it says becomes facts."""

    tracekit_workload: int
    pid: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] | None = None
    unit: str | None = None


class _Step(msgspec.Struct):
    """An iteration; times in ns since the Unix epoch."""

    step: _Time
    start_ns: _Time
    end_ns: _Time
    samples: Annotated[float, msgspec.Meta(ge=0)] | None = None


def is_record(capture: Path) -> bool:
    """Tell whether a file is a record, from its first line."""
    if not capture.is_file():
        return False
    with capture.open("rb") as file:
        return _FIRST.match(file.read(_HEAD)) is not None


def read_record(capture: Path, reading: Reading) -> Iterator[Batch]:
    """Yield process, steps and facts; see `Reader.read`.

    Raises:
        UnreadableTraceError: The first line is damaged or of a later version.
    """
    log = reading.log
    log.has_timeline = False
    rows = RowBatches(reading)
    with capture.open("rb") as file:
        line = file.readline(_LARGEST_LINE)
        try:
            first = msgspec.json.decode(line, type=_First)
            facts = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise UnreadableTraceError(
                f"the first line of {reading.name} is damaged: {error}"
            ) from error
        if first.tracekit_workload != _KNOWN_VERSION:
            raise UnreadableTraceError(
                f"{reading.name} is a record of version {first.tracekit_workload}",
                hint="convert it with the tracekit that it was made with, or a newer",
            )
        rows.add("process", 0, {"process_id": 0, "os_pid": first.pid})
        for name, value in facts.items():
            if name not in _First.__struct_fields__ or name == "unit":
                _add_fact(rows, name, value)
        while line := file.readline(_LARGEST_LINE):
            row = _step(line, first)
            if row is not None:
                rows.add("step", 0, row)
                yield from rows.full()
            elif not line.isspace() and not _add_end(rows, line):
                log.skip("lines of the record", "damaged, or cut short")
    yield from rows.rest()


def _step(line: bytes, first: _First) -> dict[str, Any] | None:
    try:
        step = msgspec.json.decode(line, type=_Step)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return {
        "step_index": step.step,
        "process_id": 0,
        "start_ns": step.start_ns,
        "end_ns": step.end_ns,
        "samples": step.samples,
        "unit": first.unit,
        "source": "workload",
    }


def _add_end(rows: RowBatches, line: bytes) -> bool:
    """Take a line that says how it ended; tell whether it is one."""
    try:
        end = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    if "outcome" not in end:
        return False
    losses = end.pop("losses", None)
    if isinstance(losses, list) and losses:
        end |= {"first_loss": losses[0], "last_loss": losses[-1]}
    for name, value in end.items():
        _add_fact(rows, name, value)
    return True


def _add_fact(rows: RowBatches, name: str, value: object) -> None:
    if value is None:
        return
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    key = _PREFIX if name == _PREFIX else f"{_PREFIX}.{name}"
    rows.add("run_fact", 0, {"key": key, "value": text, "source": "workload"})
