"""Counters: values that a trace samples over time."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tracekit.convert.kineto.columns import batch, words
from tracekit.convert.kineto.context import Context
from tracekit.convert.kineto.events import Event
from tracekit.convert.kineto.identity import Id, Identity
from tracekit.convert.readers.base import Batch
from tracekit.convert.row_batches import fitted
from tracekit.schema import HOST_RANK, TABLES

_DEVICE = re.compile(r"(?:GPU|Device|MTIA|XPU|HPU) (\d{1,4})\b", re.IGNORECASE)
_VALUE = TABLES["counter_sample"].arrow.field("value").type


def samples(events: Sequence[Event], context: Context) -> Iterator[Batch]:
    """Yield a row for each number in the args of counter events.

    An event may sample several series: then the metric is `event: series`.
    """
    found: list[tuple[Event, str, float]] = []
    for event in events:
        numbers = _numbers(event, context)
        for series, value in numbers.items():
            name = event.name or series
            metric = name if len(numbers) == 1 else f"{name}: {series}"
            found.append((event, metric, value))
    if not found or "counter_sample" not in context.tables:
        return
    yield batch(
        "counter_sample",
        HOST_RANK,
        len(found),
        {
            "source": words(["kineto"] * len(found)),
            "instance": words([event.cat or None for event, _, _ in found]),
            "device_id": context.identity.devices(
                _ordinal(event.pid, context.identity) for event, _, _ in found
            ),
            "time_ns": context.times([event.ts for event, _, _ in found]),
            "metric": words([metric for _, metric, _ in found]),
            "value": fitted([value for _, _, value in found], _VALUE),
        },
    )


def _numbers(event: Event, context: Context) -> dict[str, float]:
    try:
        args: Any = msgspec.json.decode(event.args) if event.args else {}
    except (msgspec.DecodeError, RecursionError):
        args = {}
    series = args if isinstance(args, dict) else {}
    numbers: dict[str, float] = {}
    for name, value in series.items():
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            continue
        if math.isfinite(number):
            numbers[name] = number
    left_out = max(len(series) - len(numbers), not series)
    if left_out:
        context.log.skip("counter", "its value is no number", left_out)
    return numbers


def _ordinal(pid: Id, identity: Identity) -> int | None:
    """Return the device that a counter is of: `GPU 0 Counters`, or its ordinal."""
    if isinstance(pid, str):
        named = _DEVICE.match(pid)
        return int(named[1]) if named else None
    return pid if pid in identity.ordinals() else None
