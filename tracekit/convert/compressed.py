"""Decompresses a capture, as far as it goes and no further than is sane."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from tracekit.errors import UnreadableTraceError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"

_BLOCK = 1 << 20
# What is decompressed together with a damaged place is lost.
_SHORT_BLOCK = 1 << 14
# Traces shrink 10 to 40 times; a file that grows more than this is made to fill disks.
_LARGEST_RATIO = 200
_SMALL = 256 << 20
_GZIP_FORMAT = 31


def decompress(source: Path, target: Path) -> str | None:
    """Write the content of a gzip or zstd file to `target`.

    Returns:
        What is wrong with `source` where it is damaged or cut short, else None. What
        could be decompressed is in `target` either way.

    Raises:
        UnreadableTraceError: The content is so much larger than the file that it can
            only be meant to fill the disk.
    """
    with source.open("rb") as file:
        magic = file.read(4)
    blocks = _zstd(source) if magic == ZSTD else _gzip(source)
    limit = max(_SMALL, _LARGEST_RATIO * source.stat().st_size)
    written = 0
    with target.open("wb") as plain:
        try:
            for block in blocks:
                written += len(block)
                if written > limit:
                    raise UnreadableTraceError(
                        f"{source.name} grows to more than {_LARGEST_RATIO} times its "
                        "size, as no capture does",
                        hint="decompress it yourself if you know what it is",
                    )
                plain.write(block)
        except _DamageError as damage:
            return str(damage)
    return None


class _DamageError(Exception):
    """The compressed data is not whole."""


def _gzip(source: Path) -> Iterator[bytes]:
    """Yield the content of the members of a gzip file."""
    with source.open("rb") as file:
        packed = file.read(_SHORT_BLOCK)
        while packed:
            member = zlib.decompressobj(_GZIP_FORMAT)
            while packed := packed or file.read(_SHORT_BLOCK):
                try:
                    yield member.decompress(packed, _BLOCK)
                except zlib.error as error:
                    raise _DamageError(str(error)) from error
                if member.eof:
                    packed = member.unused_data
                    break
                packed = member.unconsumed_tail
            else:
                yield member.flush()
                raise _DamageError("the compressed data ends before its end marker")
            # Some writers fill the file up with zeros.
            packed = (packed or file.read(_SHORT_BLOCK)).lstrip(b"\0")
            if packed and not packed.startswith(GZIP[: len(packed)]):
                raise _DamageError("something else follows the compressed data")


def _zstd(source: Path) -> Iterator[bytes]:
    with pa.OSFile(str(source)) as raw, pa.CompressedInputStream(raw, "zstd") as stream:
        while True:
            try:
                block = stream.read(_BLOCK)
            except OSError as error:
                # Arrow reports damaged data so.
                raise _DamageError(str(error).splitlines()[0]) from error
            if not block:
                return
            yield block
