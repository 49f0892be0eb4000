"""The readers that are fuzzed, and how bytes become a capture of theirs."""

import shutil
from collections.abc import Callable
from pathlib import Path

from fuzz.columnar_program import load, write_spoiled
from fuzz.sqlite_program import MAGIC, Choices, spoiled
from tracekit.convert.readers import READERS
from tracekit.convert.readers.base import Reader

CORPUS = Path(__file__).parent / "corpus"
SEEDS = Path(__file__).parent / "seeds"
# They hand the file to NVIDIA's own programs, and read what those print.
NOT_FUZZED = frozenset({"nsys-report", "ncu-report"})

Provider = Callable[[bytes], Choices]


def readers() -> dict[str, Reader]:
    """Return the readers by name."""
    return {reader.name: reader for reader in READERS if reader.name not in NOT_FUZZED}


class Capture:
    """Writes the capture that the fuzzer's bytes stand for.

    Args:
        name: The reader.
        folder: Where it is written.
        provider: Makes choices from bytes; atheris has one.
    """

    def __init__(self, name: str, folder: Path, provider: Provider) -> None:
        self._folder = folder
        self._provider = provider
        self._databases = [
            p.read_bytes() for p in sorted(SEEDS.glob(f"{name}*.sqlite"))
        ]
        tables = SEEDS / name
        self._tables = load(tables) if tables.is_dir() else None

    def write(self, data: bytes) -> Path:
        """Return the file or folder."""
        if self._tables is not None:
            folder = self._folder / "capture"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write_spoiled(self._tables, folder, self._provider(data))
            return folder
        if self._databases and not data.startswith(MAGIC):
            seed = self._databases[len(data) % len(self._databases)]
            data = spoiled(seed, self._provider(data))
        path = self._folder / "capture-rank-1"
        path.write_bytes(data)
        return path
