"""The fuzz targets: each parser has one, and its seeds lead into it."""

import random
from pathlib import Path

import pytest

from fuzz.sqlite_program import spoiled
from fuzz.targets import CORPUS, NOT_FUZZED, SEEDS, Capture, corpus, readers, targets
from tracekit.convert.readers import READERS
from tracekit.convert.scrub import SCRUBBERS


class Dice:
    """Choices as atheris's provider makes them, which these tests do without."""

    def __init__(self, data: bytes) -> None:
        self._random = random.Random(data)

    def ConsumeIntInRange(self, low: int, high: int) -> int:  # noqa: N802 - its name
        return self._random.randint(low, high)

    def ConsumeInt(self, size: int) -> int:  # noqa: N802 - its name
        bits = 8 * size - 1
        return self._random.randint(-(1 << bits), (1 << bits) - 1)

    def ConsumeBytes(self, size: int) -> bytes:  # noqa: N802 - its name
        return self._random.randbytes(size)

    def ConsumeUnicode(self, size: int) -> str:  # noqa: N802 - its name
        return "".join(chr(self._random.randint(1, 0x3000)) for _ in range(size))

    def ConsumeFloat(self) -> float:  # noqa: N802 - its name
        return self._random.choice([0.5, -1e300, float("inf"), float("nan")])


def test_every_parser_has_a_target_and_seeds() -> None:
    assert set(readers()) | NOT_FUZZED == {reader.name for reader in READERS}
    others = {"bundle", *(f"scrub-{name}" for name in SCRUBBERS)}
    assert set(targets()) == set(readers()) | others
    assert [name for name in targets() if not any(corpus(name).glob("*"))] == []


@pytest.mark.parametrize("name", targets())
def test_seeds_reach_the_target(name: str, tmp_path: Path) -> None:
    folder, scratch = tmp_path / "in", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    capture = Capture(name, folder, Dice)
    outcomes = [
        targets()[name](capture.write(seed.read_bytes()), scratch)
        for seed in sorted(corpus(name).iterdir())
    ]
    assert "read" in outcomes


def test_seeds_are_small() -> None:
    files = [p for place in (CORPUS, SEEDS) for p in place.rglob("*") if p.is_file()]
    assert max(p.stat().st_size for p in files if p.parent.parent == CORPUS) < 16_384
    assert sum(p.stat().st_size for p in files) < 1_500_000


def test_a_program_changes_the_database() -> None:
    seed = (SEEDS / "nvprof-sqlite.sqlite").read_bytes()
    changed = {spoiled(seed, Dice(bytes([number]))) for number in range(8)}
    assert len(changed - {seed}) > 4
