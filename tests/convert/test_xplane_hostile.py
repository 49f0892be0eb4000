"""XPlane files that are damaged, or made to do harm."""

import random
from pathlib import Path

import pytest

from tests.support.rows import rows
from tests.support.xspace import PlaneOf, Stats, environment, write_xspace
from tracekit.convert import convert
from tracekit.convert.xplane.xspace_pb2 import XSpace
from tracekit.errors import UnreadableTraceError


def small() -> list[PlaneOf]:
    plane = PlaneOf("/device:GPU:0", {"core_count": 2})
    plane.line("Stream #1(Compute)", 100)
    details: Stats = {
        "kernel_details": "regs:8 grid:1,1,1 block:32,1,1",
        "correlation_id": 1,
    }
    plane.event("gemm", 1_000, 1_000, details)
    cpu = PlaneOf("/host:CPU")
    cpu.line("python")
    cpu.event("train", 0, 9_000, {"step_num": 1})
    return [plane, cpu, environment(10**18)]


def test_every_cut_is_told_or_falls_between_planes(tmp_path: Path) -> None:
    path = write_xspace(tmp_path / "t.xplane.pb", *small())
    whole = path.read_bytes()
    opened = 0
    told = []
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        try:
            convert([path], tmp_path / f"run-{length}")
            opened += 1
        except UnreadableTraceError as error:
            told.append(str(error))
    # After each of the three planes.
    assert opened == 3
    assert all("cut short or damaged" in t or "no reader" in t for t in told)


def test_a_cut_file_is_still_known_for_what_it_is(tmp_path: Path) -> None:
    path = write_xspace(tmp_path / "t.xplane.pb", *small())
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UnreadableTraceError, match="cut short or damaged"):
        convert([path], tmp_path / "run")


def test_changed_bytes_never_crash(tmp_path: Path) -> None:
    path = write_xspace(tmp_path / "t.xplane.pb", *small())
    whole = path.read_bytes()
    chance = random.Random(7)
    refused = 0
    for turn in range(300):
        bad = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            bad[chance.randrange(2, len(bad))] = chance.randrange(256)
        path.write_bytes(bad)
        try:
            convert([path], tmp_path / f"run-{turn}")
        except UnreadableTraceError:
            refused += 1
    assert 0 < refused < 300


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", id="huge length"),
        pytest.param(b"\x08\x01", id="wrong wire type"),
        pytest.param(b"\x0a\x80" * 2000, id="endless varint"),
        pytest.param(b"\x5b" * 100_000, id="nested groups"),
        pytest.param(b"\x0b" * 100_000, id="nested groups of a known field"),
        pytest.param(b"\n{}", id="text"),
        pytest.param(b"\n" * 64, id="empty lines"),
    ],
)
def test_what_is_no_xspace_is_not_taken(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.xplane.pb"
    path.write_bytes(packed)
    with pytest.raises(UnreadableTraceError, match="no reader accepts"):
        convert([path], tmp_path / "run")


def test_damage_inside_of_a_plane_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.xplane.pb"
    # A plane named /host:CPU whose line has the wrong wire type inside.
    plane = b"\x12\x09/host:CPU\x1a\x03\x22\x7f\x01"
    path.write_bytes(XSpace(planes=[plane]).SerializeToString())
    with pytest.raises(UnreadableTraceError, match="cut short or damaged"):
        convert([path], tmp_path / "run")


def test_names_that_are_not_utf8_cost_a_name_only(tmp_path: Path) -> None:
    plane = PlaneOf("/device:GPU:0")
    plane.line("Stream #1(Compute)")
    plane.event(b"gemm\xff\xfe", 1_000, 1_000)
    run = convert([write_xspace(tmp_path / "t.pb", plane)], tmp_path / "run")
    assert rows(run, "kernel", "name") == [("gemm\ufffd\ufffd",)]
    assert [note.count for note in run.manifest.repaired] == [1]


def test_negative_and_missing_times(tmp_path: Path) -> None:
    plane = PlaneOf("/device:GPU:0")
    plane.line("Stream #1(Compute)", 100)
    plane.event("backwards", 5_000, -2_000)
    plane.event("at once", 6_000, 0)
    plane.event("far", (1 << 63) - 1, (1 << 63) - 1)
    plane.event("added up", 0, 7_000)
    plane.last.events[-1].num_occurrences = 3
    plane.last.events.add(metadata_id=4711, offset_ps=9_000, duration_ps=1_000)
    run = convert([write_xspace(tmp_path / "t.pb", plane)], tmp_path / "run")
    assert rows(run, "kernel", "name", "start_ns", "end_ns") == [
        ("at once", 106, 106),
        (None, 109, 110),
        ("far", 9_223_372_036_854_875, 18_446_744_073_709_651),
    ]
    assert rows(run, "rejected", "name", "reason") == [
        ("backwards", "the end is before the start")
    ]
    assert [note.reason for note in run.manifest.skipped] == [
        "added up by the profiler"
    ]


def test_numbers_that_no_column_holds_become_null(tmp_path: Path) -> None:
    plane = PlaneOf("/device:GPU:0")
    plane.line("Stream #1(Compute)")
    stats: Stats = {
        "correlation_id": (1 << 64) - 1,
        "kernel_details": "regs:99999999999",
    }
    plane.event("gemm", 1_000, 1_000, stats)
    run = convert([write_xspace(tmp_path / "t.pb", plane)], tmp_path / "run")
    assert rows(run, "kernel", "correlation_id", "registers_per_thread") == [
        (None, None)
    ]
    assert sorted(note.what for note in run.manifest.repaired) == [
        "kernel.correlation_id",
        "kernel.registers_per_thread",
    ]


def test_an_empty_profile_opens(tmp_path: Path) -> None:
    path = write_xspace(tmp_path / "t.xplane.pb", PlaneOf("/host:CPU"))
    run = convert([path], tmp_path / "run")
    assert run.manifest.rows("kernel") == 0
    assert run.manifest.absent["kernel"]
