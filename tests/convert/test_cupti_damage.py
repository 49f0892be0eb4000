"""Files of the CUPTI collector whose description of themselves is not whole."""

import struct
from pathlib import Path

import pytest

from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.errors import UnreadableTraceError

LAUNCHES = (
    "graph_launch start_ns:q end_ns:q correlation_id:u device:u context_id:u "
    "stream_id:u graph_id:u"
)
MEMSETS = (
    "memset start_ns:q end_ns:q bytes:q correlation_id:u device:u context_id:u "
    "stream_id:u graph_id:u graph_node_id:q value:u"
)
DEVICES = "device uuid_high:q uuid_low:q ordinal:u name:u"
MARKERS = "marker time_ns:q id:u flags:u"


def file_with(folder: Path, *kinds: str, blocks: dict[int, list[int]]) -> Path:
    """Write a file that describes `kinds`, and one record of some of them."""
    text = "pid 42\n" + "".join(f"kind {n} {k}\n" for n, k in enumerate(kinds, 1))
    data = struct.pack("<8sQ", b"TKCUPTI1", len(text)) + text.encode()
    for kind, values in blocks.items():
        types = [column.partition(":")[2] for column in kinds[kind - 1].split()[1:]]
        row = b"".join(
            struct.pack({"q": "<q", "u": "<I"}[type_], value)
            for type_, value in zip(types, values, strict=True)
        )
        data += struct.pack("<IHHII", 0x314B4C42, kind, 0, 1, len(row)) + row
    path = folder / "1.cupti"
    path.write_bytes(data)
    return path


def test_a_kind_without_a_needed_column_is_counted_and_the_rest_is_read(
    tmp_path: Path,
) -> None:
    path = file_with(
        tmp_path,
        LAUNCHES,
        MEMSETS,
        DEVICES,
        MARKERS,
        blocks={
            1: [1000, 3000, 7, 0, 1, 2, 9],
            2: [1000, 3000, 64, 8, 0, 1, 2, 0, 0, 0],
            3: [1, 2, 0, 0],
            4: [5, 1, 2],
        },
    )
    run = convert([path], tmp_path / "run")
    launches = rows_of_run(run, "graph_launch")
    assert [(r["start_ns"], r["end_ns"], r["graph_id"]) for r in launches] == [
        (1000, 3000, 9)
    ]
    assert {note.what: note.count for note in run.manifest.skipped} == {
        "memset": 1,
        "device": 1,
        "marker": 1,
    }
    assert [row["name"] for row in rows_of_run(run, "device")] == [None]


def test_a_column_that_is_named_twice(tmp_path: Path) -> None:
    twice = LAUNCHES + " graph_id:u"
    path = file_with(tmp_path, twice, blocks={1: [1, 3, 7, 0, 1, 2, 9, 9]})
    with pytest.raises(UnreadableTraceError, match="its header"):
        convert([path], tmp_path / "run")
