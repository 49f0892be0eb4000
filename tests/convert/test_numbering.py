"""Ids of several captures become unique in their run, and a shared GPU stays one."""

import pyarrow as pa

from tests.support.tables import rows_for
from tracekit.convert.numbering import Numbering
from tracekit.schema import TABLES


def batch(table: str, text: str) -> pa.RecordBatch:
    (found,) = rows_for(TABLES[table].arrow, text).combine_chunks().to_batches()
    return found


KERNEL = """
    process_id, device_id, start_ns, end_ns
    0,          0,         1,        2
    0,          1,         3,        4
"""


def devices_of(numbering: Numbering, text: str) -> tuple[list[int], list[int]]:
    """Return the devices that are new, and those of the kernels of a capture."""
    numbering.begin_capture()
    fresh = numbering.new_devices(batch("device", text))
    fresh = numbering.renumber(fresh)
    kernels = numbering.renumber(batch("kernel", KERNEL))
    return fresh["device_id"].to_pylist(), kernels["device_id"].to_pylist()


def test_a_gpu_with_the_same_uuid_is_one_device() -> None:
    numbering = Numbering()
    text = """
        device_id, host, uuid
        0,         a,    GPU-1
        1,         a,    GPU-2
    """
    assert devices_of(numbering, text) == ([0, 1], [0, 1])
    assert devices_of(numbering, text) == ([], [0, 1])
    swapped = text.replace("GPU-1", "GPU-3")
    assert devices_of(numbering, swapped) == ([2], [2, 1])


def test_a_gpu_that_nothing_identifies_is_one_of_its_capture() -> None:
    numbering = Numbering()
    text = """
        device_id, name
        0,         H200
        1,         H200
    """
    assert devices_of(numbering, text) == ([0, 1], [0, 1])
    assert devices_of(numbering, text) == ([2, 3], [2, 3])
