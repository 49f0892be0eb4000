"""Every capture is taken by one reader, whichever stands first in the list."""

from pathlib import Path

import pytest

from tests.support.shared import ROOT, TRACES
from tracekit.convert.capture import decompressed
from tracekit.convert.readers import READERS

# What each reader takes, the more telling pattern first.
TAKEN_BY = {
    "fixtures/cupti/*.cupti.zst": "cupti",
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
    "frameworks/torch/*_execution_trace_*.json": "torch-execution-trace",
    "frameworks/torch/torch*.json": "kineto",
    "kineto/public/*.xplane.pb": "xplane",
    "kineto/public/*.json.gz": "kineto",
    "kineto/public/*.json": "kineto",
    "kineto/h200/*.kineto.json.gz": "kineto",
    "fixtures/kineto/*.json.gz": "kineto",
    "nsys/*/*.sqlite": "nsys-sqlite",
    "nsys/*_pqtdir": "nsys-columnar",
    "nsys/*/*_pqtdir": "nsys-columnar",
    "nsys/*_arwdir": "nsys-columnar",
    "nsys/*/*.nsys-rep": "nsys-report",
    "ncu/*.csv": "ncu-csv",
    "ncu/*.csv.gz": "ncu-csv",
    "ncu/*.ncu-rep.gz": "ncu-report",
    "nvprof/*.nvprof": "nvprof-sqlite",
    "nvprof/*.nvvp": "nvprof-sqlite",
    "nvprof/*.csv": "nvprof-csv",
    "rocprof/*.json.gz": "rocprofv3-json",
    "rocprof/*.db": "rocpd",
    "torch/*.snapshot.pickle.gz": "torch-snapshot",
    "torch/*.memory_timeline*.json.gz": "torch-memory-timeline",
    "torch/*.execution_trace.json.gz": "torch-execution-trace",
    "torch/*.kineto.json.gz": "kineto",
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
    # What a snapshot's program knows of its model.
    "torch/mlp_adam.json",
    # Unpacked before a reader is asked.
    "*.tar.gz",
)
_FOLDERS = ("_pqtdir", "_arwdir")


def candidates() -> list[Path]:
    folders = [ROOT / "fixtures", TRACES]
    files = [
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() or path.name.endswith(_FOLDERS)
    ]
    # A cache of conversions may stand beside a capture.
    return sorted(f for f in files if f.stat().st_size and ".tracekit" not in f.parts)


def expected_readers(path: Path) -> list[str]:
    """Return the reader that takes a capture; no line for it is a mistake."""
    if any(path.match(pattern) for pattern in NO_CAPTURE):
        return []
    return [next(name for pattern, name in TAKEN_BY.items() if path.match(pattern))]


@pytest.mark.parametrize(
    "capture", candidates(), ids=lambda path: "/".join(path.parts[-2:])
)
def test_one_reader_takes_a_capture(capture: Path, tmp_path: Path) -> None:
    with decompressed(capture, tmp_path) as plain:
        takers = [reader.name for reader in READERS if reader.accepts(plain)]
    assert takers == expected_readers(capture)


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
