"""Memory snapshots of PyTorch: hand-made histories, and one recorded step."""

import pickle
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.support.exports import FIXTURES
from tests.support.snapshots import BASE, block, event, segment
from tracekit.convert import Request, convert
from tracekit.convert.redaction import Redact

MLP = FIXTURES / "torch" / "mlp_adam.snapshot.pickle.gz"
Rows = list[dict[str, Any]]


class Converted:
    def __init__(
        self, folder: Path, content: object, redact: Redact = Redact.NOTHING
    ) -> None:
        folder.mkdir(exist_ok=True)
        path = folder / "snapshot.pickle"
        path.write_bytes(pickle.dumps(content))
        self.run = convert([path], folder / "run", Request(redact=redact))
        self.trace = tracekit.open(folder / "run")

    def rows(self, columns: str, table: str = "memory_event", order: str = "") -> Rows:
        found: Rows = (
            self.trace.sql(f"SELECT {columns} FROM {table} {order}")
            .to_arrow()
            .to_pylist()
        )
        return found

    def tuples(self, columns: str, table: str = "memory_event") -> list[Any]:
        return [tuple(row.values()) for row in self.rows(columns, table)]


def test_blocks_are_followed_from_what_was_alive_at_the_start(tmp_path: Path) -> None:
    # 1000 bytes at 0 were alive before; they go, 3 bytes at 2048 and 600 at 0 come.
    content = {
        "segments": [
            segment(
                0,
                2 << 20,
                block(0, 1024, 600),
                block(2048, 512, 3),
                block(4096, 2048, 2000),
            )
        ],
        "device_traces": [
            [
                event("free_requested", 0, 1000, 10),
                event("free_completed", 0, 1000, 11),
                event("alloc", 2048, 3, 12),
                event("alloc", 0, 600, 13),
            ]
        ],
    }
    found = Converted(tmp_path, content).tuples(
        "kind, address, bytes, requested_bytes, time_ns, total_allocated_bytes"
    )
    assert found == [
        ("held", BASE, 1024, 1000, 10_000, 1024),
        ("held", BASE + 4096, 2048, 2000, 10_000, 3072),
        ("free", BASE, 1024, 1000, 10_000, 2048),
        ("free_completed", BASE, 1024, 1000, 11_000, 2048),
        ("allocate", BASE + 2048, 512, 3, 12_000, 2560),
        ("allocate", BASE, 1024, 600, 13_000, 3584),
    ]


def test_a_block_that_lived_to_the_end_has_its_true_size(tmp_path: Path) -> None:
    # 20 MB asked for, and a remainder of under 1 MB was not worth splitting off.
    content = {
        "segments": [segment(0, 22 << 20, block(0, 21 << 20, 20 << 20))],
        "device_traces": [[event("alloc", 0, 20 << 20, 10)]],
    }
    (found,) = Converted(tmp_path, content).tuples("bytes, total_allocated_bytes")
    assert found == (21 << 20, 21 << 20)


def test_a_block_freed_but_in_use_by_a_stream_is_no_longer_allocated(
    tmp_path: Path,
) -> None:
    content = {
        "segments": [
            segment(0, 2 << 20, block(0, 4096, 100, "active_pending_free")),
        ],
        "device_traces": [[event("free_requested", 0, 100, 10)]],
    }
    found = Converted(tmp_path, content).tuples("kind, bytes, total_allocated_bytes")
    assert found == [("held", 4096, 4096), ("free", 4096, 0)]


def test_sizes_follow_the_setting_that_rounds_to_parts_of_powers(
    tmp_path: Path,
) -> None:
    # A power of two in 4 parts: above 1 MiB the sizes are 1280, 1536, 1792, 2048 KiB.
    size = 1200 << 10
    content = {
        "segments": [segment(0, 2 << 20)],
        "device_traces": [
            [event("alloc", 0, size, 10), event("free_requested", 0, size, 11)]
        ],
        "allocator_settings": {"roundup_power2_divisions": {"1": 4, "2": 0}},
    }
    found = Converted(tmp_path, content).tuples("bytes, total_allocated_bytes")
    assert found == [(1280 << 10, 1280 << 10), (1280 << 10, 0)]


def test_segments_come_and_go_in_whole_and_in_part(tmp_path: Path) -> None:
    mib = 1 << 20
    content = {
        "segments": [segment(0, 2 * mib), segment(40 * mib, 2 * mib)],
        "device_traces": [
            [
                event("segment_map", 40 * mib, 6 * mib, 10),
                event("segment_free", 20 * mib, 2 * mib, 11),
                event("segment_unmap", 42 * mib, 4 * mib, 12),
                event("alloc", 0, 1, 13),
                event("free_requested", 0, 1, 14),
            ]
        ],
    }
    result = Converted(tmp_path, content)
    spans = result.rows(
        "address - 139637976727552 AS place, bytes, start_ns, end_ns",
        "memory_segment",
        "ORDER BY place",
    )
    assert [tuple(row.values()) for row in spans] == [
        (0, 2 * mib, None, None),
        (20 * mib, 2 * mib, None, 11_000),
        (40 * mib, 2 * mib, 10_000, None),
        (42 * mib, 4 * mib, 10_000, 12_000),
    ]
    assert result.tuples("total_reserved_bytes") == [(4 * mib,), (4 * mib,)]


def test_a_refused_request_is_a_row_and_no_memory(tmp_path: Path) -> None:
    oom = event("oom", 0, 1 << 40, 10)
    del oom["addr"]
    content = {
        "segments": [segment(0, 2 << 20)],
        "device_traces": [[{**oom, "device_free": 17}]],
    }
    found = Converted(tmp_path, content).tuples(
        "kind, address, requested_bytes, total_allocated_bytes"
    )
    assert found == [("out_of_memory", None, 1 << 40, 0)]


def test_devices_are_followed_apart(tmp_path: Path) -> None:
    content = {
        "segments": [
            segment(0, 2 << 20, block(0, 512, 1), device=1),
            segment(0, 2 << 20, block(0, 1024, 1000), device=3),
        ],
        "device_traces": [
            [],
            [event("alloc", 0, 1, 10)],
            [],
            [event("alloc", 0, 1000, 9)],
        ],
    }
    result = Converted(tmp_path, content)
    found = result.tuples("device_id, bytes, total_allocated_bytes")
    assert found == [(1, 1024, 1024), (0, 512, 512)]
    assert result.tuples("device_id, cuda_ordinal", "context") == [(0, 1), (1, 3)]


def test_stacks_ranges_marks_and_tags(tmp_path: Path) -> None:
    frames = [
        {"name": "inner", "filename": "/home/ada/model.py", "line": 7},
        {"name": "??", "filename": "??", "line": 0},
    ]
    content = {
        "segments": [segment(0, 2 << 20, block(0, 512, 1))],
        "device_traces": [
            [
                event("alloc", 0, 1, 10, frames=frames, user_metadata="layer 3"),
                event("user_defined", 0, 0, 11, user_metadata="epoch 1"),
                event("snapshot", 0, 0, 12),
            ]
        ],
        "external_annotations": [
            {"stage": "START", "name": "step", "device": 0, "time_us": 8},
            {"stage": "START", "name": "step", "device": 0, "time_us": 9},
            {"stage": "END", "name": "step", "device": 0, "time_us": 12},
            {"stage": "END", "name": "lost", "device": 0, "time_us": 13},
        ],
    }
    result = Converted(tmp_path, content, redact=Redact.PATHS)
    assert result.tuples(
        "tag, memory_class, depth, symbol, file, line",
        "memory_event JOIN call_stack USING (call_stack_id)",
    ) == [
        ("layer 3", None, 0, "inner", "~/model.py", 7),
        ("layer 3", None, 1, None, None, None),
    ]
    assert result.tuples("kind, text, start_ns, end_ns", "annotation") == [
        ("start_end", "step", 8_000, None),
        ("start_end", "step", 9_000, 12_000),
        ("mark", "epoch 1", 11_000, 11_000),
    ]
    skipped = {(n.what, n.count) for n in result.run.manifest.skipped}
    assert skipped == {("annotation", 1), ("snapshot", 1)}


def test_a_list_of_segments_as_pytorch_1_wrote_it(tmp_path: Path) -> None:
    # No addresses of blocks, no history of events, sizes in a history of the block.
    content = [
        {
            "device": 0,
            "address": BASE,
            "total_size": 2 << 20,
            "stream": 0,
            "segment_type": "small",
            "allocated_size": 1536,
            "blocks": [
                {
                    "size": 1024,
                    "state": "active_allocated",
                    "history": [
                        {
                            "addr": BASE,
                            "real_size": 1000,
                            "frames": [{"name": "f", "filename": "a.py", "line": 2}],
                        }
                    ],
                },
                {"size": 512, "state": "inactive"},
                {"size": 512, "state": "active_allocated"},
            ],
        }
    ]
    result = Converted(tmp_path, content)
    assert result.tuples(
        "kind, address, bytes, requested_bytes, time_ns, total_allocated_bytes"
    ) == [
        ("held", BASE, 1024, 1000, None, 1024),
        ("held", BASE + 1536, 512, None, None, 1536),
    ]
    assert result.tuples("symbol, file", "call_stack") == [("f", "a.py")]
    (message,) = result.tuples("text", "diagnostic")
    assert "_record_memory_history" in message[0]


def test_a_history_without_times_keeps_its_order(tmp_path: Path) -> None:
    # PyTorch 2.0 wrote no times.
    trace = [event("alloc", 0, 1, 0), event("free_requested", 0, 1, 0)] * 3
    for entry in trace:
        entry.pop("time_us", None)
    content = {"segments": [segment(0, 2 << 20)], "device_traces": [trace]}
    found = Converted(tmp_path, content).tuples("kind, time_ns, total_allocated_bytes")
    assert found == [("allocate", None, 512), ("free", None, 0)] * 3


def test_what_contradicts_itself_is_told_and_enters_no_total(tmp_path: Path) -> None:
    content = {
        "segments": [{**segment(0, 2 << 20, block(0, 512, 1)), "allocated_size": 1024}],
        "device_traces": [
            # Never freed and not there at the end; and freed although still there.
            [event("alloc", 4096, 1, 10), event("free_requested", 0, 1, 11)]
        ],
    }
    result = Converted(tmp_path, content)
    assert result.tuples("kind, total_allocated_bytes") == [
        ("held", 512),
        ("allocate", 512),
        ("free", 512),
    ]
    texts = sorted(text for (text,) in result.tuples("text", "diagnostic"))
    assert "2 events" in texts[0]
    assert "1024 bytes are allocated; its blocks add up to 512" in texts[1]


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> tracekit.Trace:
    return tracekit.open(convert([MLP], tmp_path_factory.mktemp("mlp") / "run").path)


def test_totals_are_what_torch_returned(mlp: tracekit.Trace) -> None:
    torch = tomllib.loads((MLP.parent / "mlp_adam.origin.toml").read_text())["torch"]
    (row,) = (
        mlp.sql("""
            SELECT
                max(total_allocated_bytes) FILTER (kind = 'held') AS allocated_before,
                max(total_allocated_bytes) AS max_allocated,
                max(total_reserved_bytes) AS reserved
            FROM memory_event
        """)
        .to_arrow()
        .to_pylist()
    )
    assert row == torch


def test_the_recorded_step_adds_up(mlp: tracekit.Trace) -> None:
    rows = mlp.sql("SELECT * FROM memory_event").to_arrow().to_pylist()
    alive: dict[int, int] = {}
    for row in rows:
        assert row["bytes"] % 512 == 0
        assert row["bytes"] - 512 < row["requested_bytes"] <= row["bytes"]
        if row["kind"] in ("held", "allocate"):
            assert row["address"] not in alive
            alive[row["address"]] = row["bytes"]
        elif row["kind"] == "free":
            assert alive.pop(row["address"]) == row["bytes"]
        assert row["total_allocated_bytes"] == sum(alive.values())
        assert row["memory_class"] is None
    # What the segments say is active at the end.
    assert sum(alive.values()) == 171_513_856
    reserved = mlp.sql("SELECT sum(bytes)::BIGINT AS b FROM memory_segment")
    assert reserved.to_arrow().to_pylist() == [{"b": 216_006_656}]


def test_the_sizes_follow_from_the_shapes(mlp: tracekit.Trace) -> None:
    widths = (1024, 2048, 2048, 16)
    parameters = [n for a, b in pairwise(widths) for n in (a * b, b)]
    assert sum(parameters) == 6_328_336
    weights = Counter(4 * n for n in parameters)
    sql = "SELECT kind, requested_bytes AS b FROM memory_event"
    rows = mlp.sql(sql).to_arrow().to_pylist()
    held = Counter(row["b"] for row in rows if row["kind"] == "held")
    # Weights, gradients and two moments: four of each.
    for size, count in weights.items():
        assert held[size] >= 4 * count, size
    first = [row["b"] for row in rows if row["kind"] == "free"][:6]
    assert Counter(first) == weights
    asked = Counter(row["b"] for row in rows if row["kind"] == "allocate")
    # Gradients, and one temporary of each parameter in the update; activations and
    # their gradients are 512 x 2048 floats, logits 512 x 16.
    for size, count in weights.items():
        assert asked[size] >= 2 * count, size
    assert asked[512 * 2048 * 4] == 8
    assert asked[512 * 16 * 4] == 4
