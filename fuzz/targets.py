"""What is fuzzed, and how bytes become a capture for it."""

import gzip
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa

from fuzz.checking import check, check_bundle, check_scrub
from fuzz.columnar_program import load, write_spoiled
from fuzz.sqlite_program import MAGIC, Choices, spoiled
from tracekit.convert.readers import READERS
from tracekit.convert.readers.base import Reader

CORPUS = Path(__file__).parent / "corpus"
SEEDS = Path(__file__).parent / "seeds"
# They hand the file to NVIDIA's own programs, and read what those print.
NOT_FUZZED = frozenset({"nsys-report", "ncu-report"})

# What is no reader, and the reader whose seeds it takes.
_SCRUB = "scrub-"
_SCRUBBED = ("nsys-sqlite", "nsys-columnar", "cupti")
BUNDLE = "bundle"

Provider = Callable[[bytes], Choices]
Check = Callable[[Path, Path], str]


def targets() -> dict[str, Check]:
    """Return what is fuzzed, by name: takes a capture and a folder for scratch."""
    return {
        **{name: partial(check, reader) for name, reader in readers().items()},
        **{_SCRUB + name: check_scrub for name in _SCRUBBED},
        BUNDLE: check_bundle,
    }


def corpus(name: str) -> Path:
    """Return the folder of the seeds of a target."""
    return CORPUS / name.removeprefix(_SCRUB)


def readers() -> dict[str, Reader]:
    """Return the readers by name."""
    return {reader.name: reader for reader in READERS if reader.name not in NOT_FUZZED}


class Capture:
    """Writes the capture that the fuzzer's bytes stand for.

    Args:
        name: The target.
        folder: Where it is written.
        provider: Makes choices from bytes; atheris has one.
    """

    def __init__(self, name: str, folder: Path, provider: Provider) -> None:
        self._folder = folder
        self._provider = provider
        self._is_bundle = name == BUNDLE
        name = name.removeprefix(_SCRUB)
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
        if self._is_bundle:
            data = _packed(data)
        path = self._folder / "capture-rank-1"
        path.write_bytes(data)
        return path


def _packed(data: bytes) -> bytes:
    """Return the content that follows the first byte, compressed as that byte says.

    Bytes of compressed data that are changed at random only give damaged data.
    """
    kind, content = data[:1], data[1:]
    if kind == b"g":
        return gzip.compress(content, 1)
    if kind == b"c":
        return gzip.compress(content, 1)[:-8]
    if kind == b"z":
        packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
        return packed
    return content
