"""Recorded captures of frameworks, cut and changed: told or read, never a crash."""

import random
from pathlib import Path

import pytest

from tests.convert.test_framework_fixtures import FIXTURES
from tracekit.convert import convert
from tracekit.convert.capture import decompressed
from tracekit.convert.readers import READERS
from tracekit.errors import UnreadableTraceError


@pytest.fixture(params=FIXTURES, ids=lambda path: path.name)
def content(request: pytest.FixtureRequest, tmp_path: Path) -> bytes:
    with decompressed(request.param, tmp_path) as plain:
        return plain.read_bytes()[:40_000]


def survives(content: bytes, place: Path) -> bool:
    path = place / "capture"
    path.write_bytes(content)
    takers = [reader.name for reader in READERS if reader.accepts(path)]
    assert len(takers) <= 1
    try:
        convert([path], place / "run")
    except UnreadableTraceError:
        return False
    return True


def test_cut_anywhere(content: bytes, tmp_path: Path) -> None:
    for turn, length in enumerate(range(1, len(content), len(content) // 12)):
        (tmp_path / str(turn)).mkdir()
        survives(content[:length], tmp_path / str(turn))


def test_changed_anywhere(content: bytes, tmp_path: Path) -> None:
    chance = random.Random(11)
    for turn in range(20):
        bad = bytearray(content)
        for _ in range(chance.randint(1, 30)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        (tmp_path / str(turn)).mkdir()
        survives(bytes(bad), tmp_path / str(turn))


@pytest.mark.parametrize(
    "event",
    [
        '{"ph": "B", "cat": "operator", "name": 5, "ts": "1", "pid": "x", "tid": {}}',
        '{"ph": "X", "name": "x", "ts": 1e308, "dur": 1e308, "pid": 1, "tid": 1}',
        '{"ph": "X", "name": "x", "ts": -1e18, "dur": 1, "pid": 1, "tid": 1}',
        '{"ph": "C", "cat": "train", "name": null, "args": [1], "ts": 1}',
        '{"ph": "C", "cat": "a", "name": "b", "args": {"b": 1e999}, "ts": 1}',
        '{"ph": "M", "name": "process_name", "args": {"name": {"a": 1}}}',
        '{"ph": "e", "cat": "operator", "name": "x", "ts": NaN, "id": 2e30}',
        '{"ph": "X", "args": ' + "[" * 5_000 + "]" * 5_000 + "}",
        '{"ph": "\\ud800", "name": "\\ud800", "ts": 1, "dur": 1}',
        '{"ph": "X", "name": "\\ud800", "ts": 1, "dur": 1, "pid": "\\udfff"}',
        "{}",
        "[]",
        "null",
    ],
)
@pytest.mark.parametrize("mark", ["MXNET_C_API", "/host:CPU", "PERF"])
def test_an_odd_event_costs_itself(event: str, mark: str, tmp_path: Path) -> None:
    names = {"/host:CPU": "process_name"}
    first = (
        f'{{"ph": "M", "name": "{names.get(mark, "x")}", "pid": 1, "cat": "{mark}", '
        f'"args": {{"name": "{mark}"}}}}'
    )
    good = '{"ph": "X", "name": "good", "ts": 1, "dur": 1, "pid": 1, "tid": 1}'
    text = f"[{first},{event},{good}]"
    if mark != "PERF":
        text = f'{{"traceEvents": {text}}}'
    assert survives(text.encode(), tmp_path)
