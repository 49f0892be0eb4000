"""A PyTorch trace that is cut short, or made to fill memory or disk."""

import gzip
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tests.support.command import ROOT
from tests.support.kineto import rows
from tests.support.kineto_text import (
    converted,
    kernel,
    kernels_of,
    launch,
    notes,
    operator,
    text_of,
)
from tracekit.convert import convert
from tracekit.convert.kineto import stream as stream_module
from tracekit.convert.kineto.stream import EventStream
from tracekit.convert.readers.base import CaptureLog
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import open_run

TWO = ["kernel_1", "kernel_3"]
WHOLE = text_of([kernel(1), kernel(2), kernel(3)])


def events_in(path: Path) -> tuple[list[str | None], CaptureLog]:
    log = CaptureLog()
    stream = EventStream(path, log)
    found = [event.name for events in stream.chunks() for event in events]
    stream.close()
    return found, log


def test_cut_off_at_every_byte(tmp_path: Path) -> None:
    content = text_of([operator(1), kernel(1), launch(2), kernel(3)]).encode()
    path = tmp_path / "trace.json"
    begins = content.index(b'"traceEvents"')
    ends = [
        content.index(name) + content[content.index(name) :].index(b"}}") + 2
        for name in (b"aten::op_1", b"kernel_1", b"cudaLaunchKernel", b"kernel_3")
    ]
    for size in range(begins + len(b'"traceEvents": ['), len(content)):
        path.write_bytes(content[:size])
        found, log = events_in(path)
        assert len(found) == sum(end <= size for end in ends), size
        assert log.skipped.total() <= 1


@pytest.mark.parametrize("chunk", [64, 100, 257, 1000])
def test_chunks_of_any_size_give_the_same_events(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'a }, {"ph": 1'
    events = [
        operator(n, args={"Concrete Inputs": [text, {"name": 1}, {"ph": 2}]})
        for n in range(1, 20)
    ]
    path = tmp_path / "trace.json"
    path.write_text(text_of(events, note={"traceEvents": [1], "text": "]}"}))
    monkeypatch.setattr(stream_module, "CHUNK", chunk)
    found, log = events_in(path)
    assert found == [event["name"] for event in events]
    assert not log.skipped
    assert not log.repaired


def test_a_cut_is_told(tmp_path: Path) -> None:
    run = converted(tmp_path, WHOLE[: WHOLE.index("kernel_3")])
    assert kernels_of(run) == ["kernel_1", "kernel_2"]
    assert notes(run, "skipped") == {"event: cut off at the end of the file": 1}
    assert any("cut short" in note for note in notes(run, "repaired"))
    said = [row["text"] for row in rows(run, "diagnostic")]
    assert any("cut short" in text for text in said)


@pytest.mark.parametrize("lost", [8, 30, 300])
def test_gzip_without_its_end(lost: int, tmp_path: Path) -> None:
    many = text_of([kernel(n) for n in range(1, 500)]).encode()
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(many)[:-lost])
    run = convert([path], tmp_path / "run")
    found = kernels_of(run)
    assert found == [f"kernel_{n}" for n in range(1, len(found) + 1)]
    there = zlib.decompressobj(31).decompress(path.read_bytes())
    whole = there.count(b"}}")
    assert len(found) == whole
    assert any(what.startswith("compression") for what in notes(run, "repaired"))


def test_a_sum_of_gzip_that_is_wrong(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(WHOLE.encode()))
    packed[-6] ^= 0xFF
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed)
    with pytest.raises(UnreadableTraceError, match="damaged"):
        convert([path], tmp_path / "run")


# -- It is made to fill memory or disk, or to write elsewhere.

_LIMITED = """
import re, sys
from pathlib import Path
from tracekit.convert import convert
from tracekit.errors import TracekitError
try:
    convert([Path(sys.argv[1])], Path(sys.argv[2]))
except TracekitError as error:
    print(error)
status = Path("/proc/self/status").read_text()
# Not ru_maxrss: that begins with what the process that started this one held.
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1]) >> 10)
"""


def peak_mib(path: Path, run: Path) -> tuple[int, str]:
    """Convert in a process of its own; return its peak memory and what it printed."""
    code = [sys.executable, "-c", _LIMITED, str(path), str(run)]
    done = subprocess.run(
        code, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    *said, peak = done.stdout.splitlines()
    return int(peak), "\n".join(said)


@pytest.mark.parametrize("where", ["name", "args", "metadata"])
def test_a_text_of_100_mb(where: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    content = {
        "name": WHOLE.replace("kernel_2", "HERE"),
        "args": WHOLE.replace('"grid": [2', '"note": "HERE", "grid": [2'),
        "metadata": text_of([kernel(1), kernel(3)], note="HERE"),
    }[where]
    before, after = content.split("HERE")
    with path.open("w") as file:
        file.write(before)
        for _ in range(100):
            file.write("x" * 1_000_000)
        file.write(after)
    peak, said = peak_mib(path, tmp_path / "run")
    assert peak < 400
    assert not said
    run = open_run(tmp_path / "run")
    assert kernels_of(run) == TWO
    if where != "metadata":
        assert notes(run, "skipped") == {"event: longer than 32 MiB of JSON": 1}


def test_a_zip_bomb(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    with gzip.open(path, "wb") as file:
        file.write(WHOLE[:-2].encode())
        for _ in range(400):
            file.write(b" " * (1 << 20))
    peak, said = peak_mib(path, tmp_path / "run")
    assert peak < 400
    assert "times its size" in said
    assert not (tmp_path / "run").exists()
