"""What counters tell of a GPU fills what its timeline leaves open."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tracekit.convert.counters.devices import filled
from tracekit.schema import TABLES

SCHEMA = TABLES["device"].arrow


def device(**known: object) -> dict[str, Any]:
    return {name: known.get(name) for name in SCHEMA.names}


def fill(*rows: Mapping[str, Any], counted: list[dict[str, Any]]) -> list[Any]:
    batch = pa.RecordBatch.from_pylist(list(rows), schema=SCHEMA)
    found = filled(batch, counted).to_pylist()
    return [(row["uuid"], row["sm_count"], row["max_clock_hz"]) for row in found]


def test_of_the_same_gpu_what_is_not_known_is_filled() -> None:
    h200 = device(device_id=5, name="H200", uuid="other", sm_count=132, max_clock_hz=9)
    assert fill(
        device(device_id=0, name="H200", uuid="mine", sm_count=100),
        device(device_id=1),
        device(device_id=2, name="A100"),
        counted=[h200, h200],
    ) == [("mine", 100, 9), (None, 132, 9), (None, None, None)]


def test_gpus_that_differ_tell_nothing() -> None:
    one = device(name="H200", sm_count=132, max_clock_hz=9)
    other = device(name="H200", sm_count=132, max_clock_hz=8)
    assert fill(device(name="H200"), counted=[one, other]) == [(None, 132, None)]
    assert fill(device(name="H200"), counted=[]) == [(None, None, None)]
