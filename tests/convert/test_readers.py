"""Every capture is taken by one reader, whichever stands first in the list."""

from collections.abc import Collection
from pathlib import Path

import pytest

from tests.support.shared import ROOT, TRACES
from tracekit.convert.capture import decompressed
from tracekit.convert.readers import READERS

# What each reader takes, the more telling pattern first.
TAKEN_BY = {
    "fixtures/tensorflow/*.xplane.pb.zst": "xplane",
    "fixtures/tensorflow/*.trace.json.gz": "tensorflow-trace",
    "fixtures/mxnet/*.json.zst": "mxnet",
    "fixtures/mxnet/*.txt.zst": "mxnet-totals",
    "fixtures/cntk/*.json": "cntk",
    "fixtures/cntk/*.txt": "cntk-summary",
    "fixtures/demo/*.sqlite.zst": "nsys-sqlite",
    "fixtures/nsys/*.sqlite.zst": "nsys-sqlite",
    "frameworks/tensorflow/*.xplane.pb": "xplane",
    "frameworks/tensorflow/*.json.gz": "tensorflow-trace",
    "frameworks/mxnet/*.aggregate.*": "mxnet-totals",
    "frameworks/mxnet/*.json": "mxnet",
    "frameworks/cntk/*.json": "cntk",
    "frameworks/cntk/*.txt": "cntk-summary",
    "frameworks/torch/*_execution_trace_*.json": None,
    "frameworks/torch/torch*.json": "kineto",
    "kineto/public/*.xplane.pb": "xplane",
    "kineto/public/*.json.gz": "kineto",
    "kineto/public/*.json": "kineto",
    "kineto/h200/*.kineto.json.gz": "kineto",
    "fixtures/kineto/*.json.gz": "kineto",
    "nsys/*/*.sqlite": "nsys-sqlite",
}
# What stands beside captures: reports, oracles, programs, parts of a folder.
NO_CAPTURE = (
    "*.md",
    "*.py",
    "*.toml",
    "*.parquet",
    "*.arrow",
    "*.exact.json",
    "*.keyavg.json",
    "*.flops.json",
    "*.stats/*",
)


def candidates() -> list[Path]:
    folders = [ROOT / "fixtures", TRACES]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    # A cache of conversions may stand beside a capture.
    return sorted(f for f in files if f.stat().st_size and ".tracekit" not in f.parts)


def expected_readers(path: Path) -> Collection[int | str]:
    """Return the reader that takes a file, or how many may."""
    if any(path.match(pattern) for pattern in NO_CAPTURE):
        return (0,)
    for pattern, name in TAKEN_BY.items():
        if path.match(pattern):
            return (0, 1) if name is None else (name,)
    # A format that has its own tests.
    return (0, 1)


@pytest.mark.parametrize(
    "capture", candidates(), ids=lambda path: "/".join(path.parts[-2:])
)
def test_one_reader_takes_a_capture(capture: Path, tmp_path: Path) -> None:
    with decompressed(capture, tmp_path) as plain:
        takers = [reader.name for reader in READERS if reader.accepts(plain)]
    expected = expected_readers(capture)
    assert (*takers, len(takers))[0] in expected or len(takers) in expected
    assert len(takers) <= 1


@pytest.mark.parametrize(
    "content",
    [
        b"\0",
        b"\n",
        b"{}",
        b"[]",
        b"[",
        b"{",
        b'"text"',
        b"\xef\xbb\xbf{}",
        b"a,b,c\n1,2,3\n",
        b"\xff" * 100,
        b"[" * 10_000,
        b'{"a":' * 10_000,
    ],
)
def test_no_reader_takes_what_is_no_capture(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(content)
    assert [reader.name for reader in READERS if reader.accepts(path)] == []
