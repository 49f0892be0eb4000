"""Rows that no metric may count are parted, with the reason."""

import pytest

from tests.support.tables import rows_for
from tracekit.convert.validity import part
from tracekit.schema import TABLES


@pytest.mark.parametrize(
    ("table", "row", "reason"),
    [
        ("kernel", "5, 9", None),
        ("kernel", "5, 5", None),
        ("kernel", "9, 5", "the end is before the start"),
        ("kernel", "5, 0", "the end is 0"),
        ("kernel", "-9, 0", "the end is 0"),
        ("kernel", "5, NULL", "no end was recorded"),
        ("kernel", "NULL, 5", "no start was recorded"),
        ("annotation", "5, NULL", None),
        ("annotation", "9, 5", "the end is before the start"),
        ("cpu_slice", "5, NULL", None),
        ("api_call", "9, 5", "the end is before the start"),
        ("memory_segment", "NULL, 5", None),
        ("memory_segment", "NULL, NULL", None),
        ("memory_segment", "9, 5", "the end is before the start"),
    ],
)
def test_intervals(table: str, row: str, reason: str | None) -> None:
    schema = TABLES[table]
    rows = rows_for(schema.arrow, f"start_ns, end_ns\n{row}\n1, 2").to_batches()[0]
    good, bad = part(schema, rows)
    if reason is None:
        assert (good.num_rows, bad.num_rows) == (2, 0)
        return
    assert good.num_rows == 1
    (found,) = bad.to_pylist()
    assert found["table_name"] == table
    assert found["reason"] == reason
    start, end = (None if cell == "NULL" else int(cell) for cell in row.split(", "))
    assert (found["start_ns"], found["end_ns"]) == (start, end)


def test_instants() -> None:
    counter = TABLES["counter_sample"]
    rows = rows_for(counter.arrow, "time_ns, value\nNULL, 8\n3, 8").to_batches()[0]
    good, bad = part(counter, rows)
    assert (good.num_rows, bad["reason"].to_pylist()) == (1, ["no time was recorded"])
    event = TABLES["cuda_event"]
    rows = rows_for(event.arrow, "time_ns, event_id\nNULL, 8").to_batches()[0]
    assert part(event, rows)[0].num_rows == 1


def test_memory_alive_in_a_snapshot_has_no_time() -> None:
    memory = TABLES["memory_event"]
    rows = rows_for(memory.arrow, "time_ns, bytes\nNULL, 8\n3, 8").to_batches()[0]
    assert part(memory, rows)[0].num_rows == 2
