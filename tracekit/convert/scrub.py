"""Writes a capture anew, of the same format, fit to share."""

import gzip
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from tracekit.convert.capture import check_exists, decompressed
from tracekit.convert.cupti.scrub import scrub_cupti
from tracekit.convert.nsys.scrub_columnar import scrub_columnar
from tracekit.convert.nsys.scrub_sqlite import scrub_sqlite
from tracekit.convert.readers import reader_for
from tracekit.convert.readers.cupti import CuptiReader
from tracekit.convert.readers.nsys_columnar import NsysColumnarReader
from tracekit.convert.readers.nsys_report import NsysReportReader
from tracekit.convert.readers.nsys_sqlite import NsysSqliteReader
from tracekit.errors import UsageError
from tracekit.store.unfinished import Unfinished, already_there, output_errors

Scrubber = Callable[[Path, Path], Counter[tuple[str, str]]]

SCRUBBERS: Mapping[str, Scrubber] = MappingProxyType(
    {
        NsysSqliteReader.name: scrub_sqlite,
        NsysColumnarReader.name: scrub_columnar,
        CuptiReader.name: scrub_cupti,
    }
)
"""What scrubs the captures of a reader."""

_BLOCK = 1 << 22
_GZIP = ".gz"
_ZSTD = (".zst", ".zstd")
_ZSTD_LEVEL = 12
# A zstd file may consist of several frames; each is compressed in memory.
_FRAME = 1 << 24


def scrub(capture: Path, output: Path, *, replace: bool = False) -> list[str]:
    """Write a copy of `capture` without what may tell of people and machines.

    Environment, command-line arguments, output, whole files, names of users and
    hosts, paths, and all text that no event refers to stay behind. The copy is
    compressed if the name of `output` ends in `.gz` or `.zst`.

    Returns:
        What was left behind, as lines.

    Raises:
        UnreadableTraceError: The capture is missing, damaged or of no known format.
        UsageError: Captures of its format cannot be scrubbed, or `output` exists.
        OutputError: The copy cannot be written.
    """
    check_exists(capture)
    with output_errors(output.absolute().parent):
        taken = output.is_symlink() or output.exists()
        if taken and output.exists() and output.samefile(capture):
            raise UsageError(f"{output} is the capture itself", hint="give another -o")
    if taken and not replace:
        raise already_there(output)
    with Unfinished(output.absolute().parent) as unfinished:
        with (
            output_errors(output),
            decompressed(capture, unfinished.folder) as plain,
        ):
            reader = reader_for(plain)
            scrubber = SCRUBBERS.get(reader.name)
            if scrubber is None:
                raise UsageError(
                    f"a capture of the format {reader.name} cannot be scrubbed",
                    hint=_what_can_be(reader.name),
                )
            made = unfinished.folder / "scrubbed"
            withheld = scrubber(plain, made)
        with output_errors(output):
            made = _compressed(made, output.suffix)
        unfinished.publish(made, output, replace=replace)
    return [
        f"Left behind: {count:,} {what} ({reason})"
        for (what, reason), count in sorted(withheld.items())
    ]


def _what_can_be(name: str) -> str:
    if name == NsysReportReader.name:
        return "scrub its export: nsys export -t sqlite --include-blobs=true x.nsys-rep"
    return f"those of the formats {', '.join(SCRUBBERS)} can"


def _compressed(made: Path, suffix: str) -> Path:
    """Return a compressed file in place of `made`, as the suffix says."""
    if suffix != _GZIP and suffix not in _ZSTD:
        return made
    if made.is_dir():
        raise UsageError(
            "a folder cannot be compressed to one file", hint="give a name without .zst"
        )
    packed = made.with_suffix(".packed")
    with made.open("rb") as plain:
        if suffix == _GZIP:
            # Neither the time nor the name of the file here goes into the header.
            with (
                packed.open("wb") as raw,
                gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as target,
            ):
                shutil.copyfileobj(plain, target, _BLOCK)
        else:
            codec = pa.Codec("zstd", compression_level=_ZSTD_LEVEL)
            with packed.open("wb") as target:
                while block := plain.read(_FRAME):
                    target.write(codec.compress(block, asbytes=True))
    made.unlink()
    return packed
