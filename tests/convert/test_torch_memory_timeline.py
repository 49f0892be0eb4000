"""The raw memory timeline of the PyTorch profiler, against the profiler's own sums."""

import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.support.command import run
from tests.support.exports import FIXTURES
from tracekit.convert import convert
from tracekit.convert.readers import reader_for
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import Run

TORCH = FIXTURES / "torch"
RAW = TORCH / "mlp_cpu.memory_timeline.raw.json.gz"
SUMMED = TORCH / "mlp_cpu.memory_timeline.json.gz"
# The order of the profiler's columns, after an empty one.
CLASSES = (
    "weights",
    "dynamic",
    "input",
    "temporaries",
    "feature_maps",
    "weight_gradients",
    "activation_gradients",
    "unknown",
)
GROWS = {"held": 1, "allocate": 1, "class_in": 1, "free": -1, "class_out": -1}


def converted(folder: Path, text: str | bytes) -> Run:
    folder.mkdir(exist_ok=True)
    path = folder / "rank-2.raw.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return convert([path], folder / "run")


def rows(run: Run, columns: str) -> list[tuple[Any, ...]]:
    found = tracekit.open(run.path).sql(f"SELECT {columns} FROM memory_event")
    return [tuple(row.values()) for row in found.to_arrow().to_pylist()]


def test_sums_by_class_are_those_of_the_profiler(tmp_path: Path) -> None:
    times, sizes = json.loads(gzip.decompress(SUMMED.read_bytes()))
    # One line for what was there before, and one for each microsecond.
    last = dict(zip(times, sizes, strict=True))
    run_ = convert([RAW], tmp_path / "run")
    sums: Counter[str] = Counter()
    ours: dict[int, list[int]] = {}
    columns = "kind, time_ns, bytes, memory_class, total_allocated_bytes"
    for kind, time, size, memory_class, total in rows(run_, columns):
        sums[memory_class] += GROWS[kind] * size
        # As the profiler makes microseconds: through a double.
        ours[int(time / 1000)] = [0, *(sums[name] for name in CLASSES)]
        if kind != "class_out":
            assert total == sum(sums.values())
        assert min(sums.values()) >= 0
    # A write that leaves the class as it is has a line of the profiler and no row.
    assert ours.keys() <= last.keys()
    line: list[int] = []
    for time, theirs in last.items():
        line = ours.get(time, line)
        assert line == theirs, time
    # By hand: four tensors of 16 x 32, 32, 32 x 4 and 4 floats, Adam's two moments of
    # each, and a step of 4 bytes for each.
    weights = 4 * (16 * 32 + 32 + 32 * 4 + 4)
    assert weights == 2704
    held = Counter[str]()
    for kind, size, memory_class in rows(run_, "kind, bytes, memory_class"):
        if kind == "held":
            held[memory_class] += size
    assert held == {
        "weights": weights,
        "dynamic": 2 * weights + 4 * 4,
        "input": 8 * 16 * 4 + 8 * 8,
    }


def test_every_action_and_class(tmp_path: Path) -> None:
    text = """[[-1, 1, 64, 0], [5, 2, 32, 4], [6, 3, -32, 4], [6, 3, 32, 5],
        [7, 3, -64, 0], [7, 3, 64, 0], [8, 4, -32, 5], [9, 2, 16, 7]]"""
    run_ = converted(tmp_path, text)
    columns = "kind, time_ns, bytes, memory_class, tag, total_allocated_bytes"
    assert rows(run_, columns) == [
        ("held", 5, 64, "weights", "PARAMETER", 64),
        ("allocate", 5, 32, "feature_maps", "ACTIVATION", 96),
        ("class_out", 6, 32, "feature_maps", "ACTIVATION", 96),
        ("class_in", 6, 32, "weight_gradients", "GRADIENT", 96),
        ("free", 8, 32, "weight_gradients", "GRADIENT", 64),
        ("allocate", 9, 16, "unknown", None, 80),
    ]
    assert [rank.rank for rank in run_.manifest.ranks] == [2]
    assert [(n.what, n.count) for n in run_.manifest.skipped] == [("memory event", 1)]


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (SUMMED.read_bytes(), "summed"),
        (
            b'<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML'
            b"</title></head>\n<body>\n  <img src='data:image/png;base64,iVBOR'>",
            "plotted",
        ),
    ],
)
def test_the_other_forms_are_told_apart_with_what_to_do(
    tmp_path: Path, content: bytes, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "memory.json"
    path.write_bytes(content)
    ran = run(capfd, "convert", path, "-o", tmp_path / "run")
    assert ran.status == 3
    assert f"is the {form} form" in ran.error
    assert ".raw.json.gz" in ran.err


def test_a_file_cut_anywhere_gives_what_it_holds(tmp_path: Path) -> None:
    text = gzip.decompress(RAW.read_bytes())
    whole = converted(tmp_path / "whole", text)
    every = rows(whole, "time_ns, kind, bytes, total_allocated_bytes")
    for number in range(30):
        end = random.Random(number).randrange(400, len(text) - 1)
        run_ = converted(tmp_path / str(number), text[:end])
        found = rows(run_, "time_ns, kind, bytes, total_allocated_bytes")
        assert found == every[: len(found)]
        assert len(found) > 5
        assert [n.what for n in run_.manifest.repaired] == ["file"]


@pytest.mark.parametrize(
    "bad",
    [
        "null",
        "7",
        '"text"',
        "[]",
        "{}",
        "[1, 2]",
        "[1, 2, 3, 4, 5]",
        '[1, 2, "3", 4]',
        "[1.5, 2, 3, 4]",
        "[NaN, 2, 3, 4]",
        "[5, 9, 3, 4]",
        "[5, 2, 3, 99]",
        "[5, 2, 3, -1]",
        "[5, 2, 99999999999999999999999999, 1]",
        "[99999999999999999999999999, 2, 8, 1]",
        "[" * 50_000 + "]" * 50_000,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_event_costs_itself_alone(tmp_path: Path, bad: str) -> None:
    run_ = converted(tmp_path, f"[[5, 2, 8, 0], {bad}, [6, 2, 8, 0]]")
    assert rows(run_, "time_ns, total_allocated_bytes") == [(5, 8), (6, 16)]
    assert sum(note.count for note in run_.manifest.skipped) >= 1


def test_a_trailing_comma_and_no_space_are_read(tmp_path: Path) -> None:
    run_ = converted(tmp_path, "[[5,2,8,0],[6,2,8,0],]")
    assert rows(run_, "total_allocated_bytes") == [(8,), (16,)]


def test_other_lists_are_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    for text in ("[]", "[[]]", "[[1, 2]]", '[{"ph": "X"}]', "[1, 2, 3, 4]"):
        path.write_text(text)
        with pytest.raises(UnreadableTraceError, match="no reader accepts"):
            reader_for(path)
