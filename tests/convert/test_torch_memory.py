"""Memory captures of PyTorch: blocks are followed, and get the class that was seen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.memory_capture import (
    DYNAMIC,
    GRADIENTS,
    INPUT,
    MAPS,
    WEIGHTS,
    capture,
)
from tracekit.convert import convert
from tracekit.errors import UnreadableTraceError

MS = 1_000_000


def events_of(path: Path) -> list[dict[str, Any]]:
    run = convert([path], path.with_suffix(".run"))
    (file,) = run.files("memory_event")
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    return rows


def classes(path: Path) -> list[tuple[str, str | None]]:
    return [
        (row["memory_class"], row["class_source"])
        for row in events_of(path)
        if row["kind"] == "allocate"
    ]


def test_a_block_is_told_by_its_allocation_not_by_its_address(tmp_path: Path) -> None:
    """Three blocks at one address; only the second was seen as a weight."""
    path = capture(
        tmp_path / "a.json",
        [
            (1 * MS, 0, 512, 100),
            (2 * MS, 0, 512, -100),
            (3 * MS, 0, 512, 200),
            (5 * MS, 0, 512, -200),
            (6 * MS, 0, 512, 300),
        ],
        [(4 * MS, 0, 512, WEIGHTS, 1, "weight", [5, 10], "float32")],
        steps=[(7 * MS, 8 * MS)],
    )
    rows = events_of(path)
    assert [(row["bytes"], row["memory_class"]) for row in rows] == [
        (100, "temporaries"),
        (100, "temporaries"),
        (200, "weights"),
        (200, "weights"),
        (300, "unknown"),
    ]
    named = rows[2]
    assert (named["layer"], named["tag"]) == ("net.fc", "weight")
    assert (named["shape"], named["data_type"]) == ("[5,10]", "float32")
    assert named["class_source"] == "storage"
    assert rows[-1]["class_source"] is None
    assert [row["total_allocated_bytes"] for row in rows] == [100, 0, 200, 0, 300]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ((MAPS, WEIGHTS), "weights"),
        ((MAPS, INPUT), "input"),
        ((GRADIENTS, DYNAMIC), "dynamic"),
        ((MAPS, GRADIENTS), "weight_gradients"),
        ((MAPS,), "feature_maps"),
    ],
)
def test_of_several_the_most_lasting_counts(
    tmp_path: Path, seen: tuple[int, ...], expected: str
) -> None:
    rows = [(2 * MS, 0, 512, what) for what in seen]
    path = capture(tmp_path / "a.json", [(1 * MS, 0, 512, 100)], rows)
    assert classes(path) == [(expected, "storage")]


def test_labels_are_a_batch(tmp_path: Path) -> None:
    """Integers from before the model ran are input; indices from inside of it not."""
    path = capture(
        tmp_path / "a.json",
        [(1 * MS, 0, 512, 8), (3 * MS, 0, 1024, 16), (3 * MS, 0, 2048, 32)],
        [
            (6 * MS, 0, 512, MAPS, None, None, [1], "int64"),
            (4 * MS, 0, 1024, MAPS, 0, None, [2], "int64"),
            (4 * MS, 0, 2048, MAPS, 0, None, [8], "float32"),
        ],
        modules=[(0, 2 * MS, 5 * MS, 1)],
    )
    assert [name for name, _ in classes(path)] == [
        "input",
        "feature_maps",
        "feature_maps",
    ]


# Allocated at 2 ms, in the operator until 3 ms, in the phase until 4 ms; the backward
# pass is from 1 to 6 ms.
@pytest.mark.parametrize(
    ("phase", "freed", "expected"),
    [
        ("backward", 2.5, "workspace"),
        ("backward", 3.5, "temporaries"),
        ("backward", 5, "activation_gradients"),
        ("backward", 8, "unknown"),
        ("optimizer", 2.5, "workspace"),
        ("optimizer", 3.5, "temporaries"),
        ("optimizer", 8, "dynamic"),
        (None, 2.5, "workspace"),
        (None, 0, "unknown"),
        (None, 9.5, "workspace"),
    ],
)
def test_what_was_not_seen_is_told_by_its_lifetime(
    tmp_path: Path, phase: str | None, freed: float, expected: str
) -> None:
    end = None if phase is None else 4 * MS
    rows: list[tuple[Any, ...]] = [
        (2 * MS, 0, 512, 100, 0, 3 * MS, phase, end),
    ]
    if freed:
        rows.append((int(freed * MS), 0, 512, -100))
    path = capture(
        tmp_path / "a.json",
        rows,
        phases=[("backward", 1 * MS, 6 * MS)] if phase == "backward" else [],
        steps=[(7 * MS, 8 * MS)],
        cleared_ns=9 * MS,
    )
    source = None if expected == "unknown" else "inferred"
    assert classes(path) == [(expected, source)]


def test_buckets_are_communication_and_the_last_loss_is_temporary(
    tmp_path: Path,
) -> None:
    path = capture(
        tmp_path / "a.json",
        [(2 * MS, 0, 512, 100), (6 * MS, 0, 1024, 4)],
        phases=[("communication", 1 * MS, 3 * MS)],
        steps=[(0, 4 * MS), (4 * MS, 8 * MS)],
    )
    assert [name for name, _ in classes(path)] == ["communication", "temporaries"]


def test_host_memory_is_pageable_and_layers_are_the_innermost(tmp_path: Path) -> None:
    path = capture(
        tmp_path / "a.json",
        [(3 * MS, -1, 512, 100), (5 * MS, -1, 512, -100)],
        modules=[(1, 2 * MS, 4 * MS, 1), (0, 1 * MS, 6 * MS, 1)],
        rank=3,
    )
    (row, _) = events_of(path)
    assert (row["device_id"], row["memory_kind"]) == (None, "pageable")
    assert (row["layer"], row["tag"]) == ("net.fc", None)
    run = convert([path], path.with_suffix(".again.run"))
    assert run.ranks == (3,)
    assert run.manifest.rows("module") == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[: len(text) // 2], "no complete memory capture"),
        (lambda text: text.replace('"version":1', '"version":9'), "version 9"),
        (lambda text: text.replace('"bytes":[', '"bytes":[5,'), "different lengths"),
    ],
)
def test_a_damaged_capture_is_refused(
    tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    path = capture(tmp_path / "a.json", [(1, 0, 512, 100)])
    path.write_text(change(path.read_text()))
    with pytest.raises(UnreadableTraceError, match=said):
        convert([path], tmp_path / "a.run")
