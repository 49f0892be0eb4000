"""Rows come in any order and leave sorted, whatever the number of chunks."""

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.schema import TABLES
from tracekit.store import table_writer
from tracekit.store.table_writer import TableWriter

KERNEL = TABLES["kernel"]
EVENT = TABLES["cuda_event"]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few hundred rows be many chunks."""
    monkeypatch.setattr(table_writer, "CHUNK_ROWS", 64)
    monkeypatch.setattr(table_writer, "ROW_GROUP_ROWS", 16)


def kernels(rows: Sequence[tuple[int, int, str | None]]) -> pa.RecordBatch:
    """Return kernels of (start, correlation id, name)."""
    return pa.RecordBatch.from_pylist(
        [
            {
                **dict.fromkeys(KERNEL.arrow.names),
                "start_ns": start,
                "end_ns": start + 1,
                "correlation_id": correlation,
                "name": name,
            }
            for start, correlation, name in rows
        ],
        schema=KERNEL.arrow,
    )


def written(folder: Path, batches: list[pa.RecordBatch]) -> pa.Table:
    scratch = folder / "scratch"
    scratch.mkdir()
    target = folder / "kernel" / "rank=0" / "part-0.parquet"
    writer = TableWriter(KERNEL, target, scratch)
    for batch in batches:
        writer.append(batch)
    writer.close()
    assert not list(scratch.iterdir())
    table = pq.read_table(target, partitioning=None)
    assert writer.rows == table.num_rows
    return table


def rows_of(table: pa.Table) -> list[tuple[int, int, str | None]]:
    return list(
        zip(
            *(
                table[name].to_pylist()
                for name in ("start_ns", "correlation_id", "name")
            ),
            strict=True,
        )
    )


@pytest.mark.parametrize("order", ["sorted", "two runs", "reversed", "random", "ties"])
def test_rows_leave_sorted_and_ties_keep_their_order(
    tmp_path: Path, order: str
) -> None:
    chance = random.Random(order)
    starts = list(range(0, 3000, 3))
    if order == "two runs":
        starts = starts[::2] + starts[1::2]
    elif order == "reversed":
        starts.reverse()
    elif order == "random":
        chance.shuffle(starts)
    elif order == "ties":
        starts = [chance.randrange(5) for _ in starts]
    rows = [(start, place, f"k{place % 7}") for place, start in enumerate(starts)]
    batches = [kernels(rows[i : i + 50]) for i in range(0, len(rows), 50)]
    table = written(tmp_path, batches)
    assert rows_of(table) == sorted(rows, key=lambda row: row[0])
    assert table["kernel_id"].to_pylist() == list(range(len(rows)))


def test_dictionaries_of_batches_become_one_column_of_text(tmp_path: Path) -> None:
    batches = []
    for name in ("a", "b"):
        plain = kernels([(0, 0, None), (1, 1, name)])
        index = plain.schema.get_field_index("name")
        batches.append(
            plain.set_column(index, "name", plain.column(index).dictionary_encode())
        )
    table = written(tmp_path, batches)
    assert table.schema.field("name").type == pa.string()
    assert table["name"].to_pylist() == [None, None, "a", "b"]


def test_rows_without_a_time_come_last(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    target = tmp_path / "cuda_event" / "rank=0" / "part-0.parquet"
    writer = TableWriter(EVENT, target, scratch)
    times = [None if place % 5 == 0 else 1000 - place for place in range(300)]
    for place in range(0, 300, 30):
        rows = [
            {**dict.fromkeys(EVENT.arrow.names), "time_ns": time}
            for time in times[place : place + 30]
        ]
        writer.append(pa.RecordBatch.from_pylist(rows, schema=EVENT.arrow))
    writer.close()
    found = pq.read_table(target)["time_ns"].to_pylist()
    recorded = sorted(time for time in times if time is not None)
    assert found == recorded + [None] * times.count(None)


def test_files_are_what_other_engines_read_alike(tmp_path: Path) -> None:
    table = written(tmp_path, [kernels([(0, 1, "a")])])
    path = tmp_path / "kernel" / "rank=0" / "part-0.parquet"
    metadata = pq.read_metadata(path)
    assert metadata.metadata is None  # no schema of Arrow's own
    columns = [
        metadata.row_group(0).column(index) for index in range(metadata.num_columns)
    ]
    assert {column.compression for column in columns} == {"ZSTD"}
    by_name = {column.path_in_schema: column for column in columns}
    assert "DELTA_BINARY_PACKED" in by_name["start_ns"].encodings
    assert "RLE_DICTIONARY" in by_name["name"].encodings
    assert table.schema.equals(KERNEL.arrow)


@pytest.mark.parametrize("first", [0, 1])
def test_text_may_come_encoded_in_some_batches_and_plain_in_others(
    first: int, tmp_path: Path
) -> None:
    plain = [kernels([(n, n, "gemm"), (n + 1, n, None)]) for n in range(0, 200, 2)]
    names = KERNEL.arrow.get_field_index("name")
    batches = [
        batch.set_column(names, "name", batch.column("name").dictionary_encode())
        if number % 2 == first
        else batch
        for number, batch in enumerate(plain)
    ]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert rows_of(written(tmp_path / "a", batches)) == rows_of(
        written(tmp_path / "b", plain)
    )


def test_rows_a_little_out_of_order_need_no_merging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def merge(_: TableWriter) -> None:
        raise AssertionError("the rows were written as several runs")

    monkeypatch.setattr(TableWriter, "_merge", merge)
    rng = random.Random(1)
    rows = [(10 * n + rng.randrange(60), n, None) for n in range(1000)]
    batches = [kernels(rows[n : n + 50]) for n in range(0, 1000, 50)]
    found = [row[:2] for row in rows_of(written(tmp_path, batches))]
    assert found == sorted(row[:2] for row in rows)
