"""Every capture is taken by one reader, whichever stands first in the list."""

from pathlib import Path

import pytest

from tests.support.shared import ROOT, TRACES
from tracekit.convert.capture import decompressed
from tracekit.convert.readers import READERS

# What each reader takes: the more telling pattern of a file stands first. Files of no
# pattern may be reports and oracles beside the captures: at most one reader takes them.
TAKEN_BY = {
    "fixtures/tensorflow/*.trace.json.gz": "tensorflow-trace",
    "fixtures/mxnet/*.json.zst": "mxnet",
    "fixtures/mxnet/*.txt.zst": "mxnet-totals",
    "fixtures/cntk/*.json": "cntk",
    "fixtures/cntk/*.txt": "cntk-summary",
    "frameworks/tensorflow/*.json.gz": "tensorflow-trace",
    "frameworks/mxnet/*.aggregate.*": "mxnet-totals",
    "frameworks/mxnet/*.json": "mxnet",
    "frameworks/cntk/*.json": "cntk",
    "frameworks/cntk/*.txt": "cntk-summary",
    "frameworks/torch/torch*steps.json": "kineto",
    "fixtures/tensorflow/*.xplane.pb.zst": "xplane",
    "fixtures/demo/*.sqlite.zst": "nsys-sqlite",
    "fixtures/nsys/*.sqlite.zst": "nsys-sqlite",
    "frameworks/tensorflow/*.xplane.pb": "xplane",
    "kineto/public/*.xplane.pb": "xplane",
}


def candidates() -> list[Path]:
    folders = [ROOT / "fixtures", TRACES]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return sorted(
        file for file in files if file.stat().st_size and file.suffix != ".md"
    )


def expected_reader(path: Path) -> str | None:
    for pattern, name in TAKEN_BY.items():
        if path.match(pattern):
            return name
    return None


@pytest.mark.parametrize(
    "capture", candidates(), ids=lambda path: "/".join(path.parts[-2:])
)
def test_one_reader_takes_a_capture(capture: Path, tmp_path: Path) -> None:
    with decompressed(capture, tmp_path) as plain:
        takers = [reader.name for reader in READERS if reader.accepts(plain)]
    name = expected_reader(capture)
    if name is None:
        assert len(takers) <= 1
    else:
        assert takers == [name]


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
