"""The native collector writes what CUPTI hands it, whatever becomes of the program."""

import os
import shutil
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.command import Ran, run
from tests.support.cupti import Programs, build
from tracekit.collect import checks, cupti_build
from tracekit.convert import convert
from tracekit.errors import MissingToolError, UnreadableTraceError
from tracekit.store.run import Run, open_run

Row = dict[str, Any]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return build(tmp_path_factory.mktemp("cupti"))


Record = Callable[..., tuple[int, Path]]


@pytest.fixture
def record(programs: Programs, tmp_path: Path) -> Record:
    """Run a scenario; its status and the folder of the capture."""

    def run_scenario(
        scenario: str, count: int = 0, **variables: str
    ) -> tuple[int, Path]:
        folder = tmp_path / f"{scenario}.cupti"
        with programs.run(folder, scenario, count, **variables) as process:
            return process.wait(30), folder

    return run_scenario


def converted(capture: Path) -> Run:
    return convert([capture], capture.with_name(f"{capture.name}.run"))


def rows(run: Run, table: str) -> list[Row]:
    found = [row for f in run.files(table) for row in pq.read_table(f).to_pylist()]
    assert found or table not in run.manifest.tables
    return found


def picked(row: Row, *names: str) -> Row:
    return {name: row[name] for name in names}


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_kernels_keep_every_field(record: Record) -> None:
    status, capture = record("every")
    assert status == 0
    run = converted(capture)
    first, second = rows(run, "kernel")
    expected = {
        "start_ns": 1000,
        "end_ns": 1011,
        "name": "add(float*, float*, int)",
        "mangled_name": "_Z3addPfS_i",
        "canonical_name": "add(float*, float*, int)",
        "short_name": "add",
        "process_id": 0,
        "device_id": 0,
        "context_id": 1,
        "stream_id": 7,
        "correlation_id": 1,
        "graph_id": None,
        "graph_node_id": None,
        "grid_x": 11,
        "grid_y": 12,
        "grid_z": 13,
        "block_x": 14,
        "block_y": 15,
        "block_z": 16,
        "cluster_x": None,
        "registers_per_thread": 17,
        "static_shared_bytes": 18,
        "dynamic_shared_bytes": 19,
        "executed_shared_bytes": 20,
        "local_bytes_per_thread": 21,
        "local_bytes_total": 22,
        "launch_type": "regular",
    }
    assert picked(first, *expected) == expected
    assert second["name"] == second["short_name"] == "sgemm_128x64"
    assert second["mangled_name"] is None
    # The bits of an unsigned number stay.
    assert second["graph_node_id"] == 0xFFFFFFFF00000001 - 2**64
    assert second["graph_id"] == 5
    assert run.manifest.source.format == "cupti"


def test_copies_and_fills(record: Record) -> None:
    run = converted(record("every")[1])
    names = ("start_ns", "bytes", "copy_kind", "copy_count", "destination_device_id")
    first, second = [picked(row, *names) for row in rows(run, "memcpy")]
    assert first == {
        "start_ns": 5000,
        "bytes": 6_000_000_000,
        "copy_kind": "HtoD",
        "copy_count": 2,
        "destination_device_id": None,
    }
    assert second["copy_kind"] == "PtoP"
    assert second["copy_count"] is None
    assert second["destination_device_id"] == 1
    (fill,) = rows(run, "memset")
    assert picked(fill, "end_ns", "bytes", "value", "memory_kind") == {
        "end_ns": 5410,
        "bytes": 4096,
        "value": 2**32 - 1,
        "memory_kind": "device",
    }


def test_only_calls_that_launch_copy_allocate_or_wait_are_kept(record: Record) -> None:
    run = converted(record("every")[1])
    calls = [picked(r, "domain", "name", "return_value") for r in rows(run, "api_call")]
    assert sorted(calls, key=lambda call: call["name"]) == [
        {"domain": "driver", "name": "cuLaunchKernel", "return_value": 0},
        {"domain": "runtime", "name": "cudaLaunchKernel", "return_value": 0},
        {"domain": "runtime", "name": "cudaMemcpy", "return_value": 2},
    ]
    (thread,) = [t for t in rows(run, "thread") if t["os_tid"] == 4_000_000_001]
    assert {call["thread_id"] for call in rows(run, "api_call")} == {
        thread["thread_id"]
    }
    assert "cuda_event" not in run.manifest.tables


def test_all_calls_on_request(record: Record) -> None:
    run = converted(record("every", TRACEKIT_CUPTI_CALLS="all")[1])
    names = {call["name"] for call in rows(run, "api_call")}
    assert "cudaGetLastError" in names
    assert [event["event_id"] for event in rows(run, "cuda_event")] == [31]


def test_graphs_as_a_whole_on_request(record: Record) -> None:
    run = converted(record("every", TRACEKIT_CUPTI_GRAPHS="graph")[1])
    (launch,) = rows(run, "graph_launch")
    assert picked(launch, "start_ns", "end_ns", "graph_id", "correlation_id") == {
        "start_ns": 5500,
        "end_ns": 5600,
        "graph_id": 9,
        "correlation_id": 6,
    }


def test_waits_memory_and_overhead(record: Record) -> None:
    also = {"TRACEKIT_CUPTI_SYNC": "on", "TRACEKIT_CUPTI_MEMORY": "on"}
    run = converted(record("every", **also)[1])
    (sync,) = rows(run, "sync")
    assert (sync["kind"], sync["stream_id"], sync["event_id"]) == (
        "context",
        None,
        None,
    )
    assert sync["device_id"] == 0
    first, second = rows(run, "memory_event")
    assert picked(first, "time_ns", "kind", "address", "bytes") == {
        "time_ns": 5900,
        "kind": "allocate",
        "address": 0x7F0000000000,
        "bytes": 2_097_152,
    }
    assert (second["time_ns"], second["kind"]) == (5950, "free")
    (overhead,) = rows(run, "overhead")
    assert overhead["kind"] == "CUPTI buffer flush"


def test_waits_and_allocations_are_left_out_by_default(record: Record) -> None:
    run = converted(record("every")[1])
    assert not {"sync", "memory_event"} & run.manifest.tables.keys()
    assert "--preset sync" in run.manifest.absent["sync"]
    assert "--preset memory" in run.manifest.absent["memory_event"]


def test_ranges_are_paired(record: Record) -> None:
    run = converted(record("every")[1])
    names = ("text", "kind", "domain", "start_ns", "end_ns")
    found = [tuple(row[name] for name in names) for row in rows(run, "annotation")]
    assert sorted(found, key=lambda row: row[3]) == [
        ("step 0", "push_pop", None, 100, 200),
        ("range", "start_end", None, 150, 250),
        ("point", "mark", "train", 160, 160),
        ("open", "push_pop", None, 300, None),
    ]
    (skipped,) = run.manifest.skipped
    assert (skipped.what, skipped.count) == ("marker", 1)


def test_the_device_is_described(record: Record) -> None:
    run = converted(record("every")[1])
    device, other = rows(run, "device")
    assert picked(device, "name", "sm_count", "max_clock_hz", "memory_bytes") == {
        "name": "NVIDIA H200",
        "sm_count": 132,
        "max_clock_hz": 1_980_000_000,
        "memory_bytes": 150_754_820_096,
    }
    assert device["uuid"] == "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf"
    assert device["peak_fp32_flops"] == 2 * 128 * 132 * 1.98e9
    assert other["name"] is None


def test_many_records_arrive_in_full(record: Record) -> None:
    status, capture = record("many", 100_000, TRACEKIT_CUPTI_BUFFERS="64")
    assert status == 0
    run = converted(capture)
    found = rows(run, "kernel")
    assert len(found) == 100_000
    assert sum(row["end_ns"] - row["start_ns"] for row in found) == sum(
        10 + n for n in range(1, 100_001)
    )


def test_dropped_records_are_counted(record: Record) -> None:
    # A megabyte holds some thousand kernels, and the only buffer is often in flight.
    _, capture = record("many", 60_000, TRACEKIT_CUPTI_BUFFERS="1")
    run = converted(capture)
    kept = run.manifest.rows("kernel")
    lost = sum(note.count for note in run.manifest.skipped if note.what == "record")
    assert kept + lost == 60_000
    assert lost > 0
    texts = [row["text"] for row in rows(run, "diagnostic")]
    assert any(f"CUPTI dropped {lost:,} records" in text for text in texts)


@pytest.mark.parametrize(
    ("error", "why"),
    [(35, "this user may not read GPU activity"), (999, "error 999")],
)
def test_what_cupti_refuses_is_told(record: Record, error: int, why: str) -> None:
    run = converted(record("every", STAND_IN_REFUSES=str(error))[1])
    assert "kernel" not in run.manifest.tables
    texts = [row["text"] for row in rows(run, "diagnostic")]
    assert any(f"CUPTI refused to record kernels: {why}" in text for text in texts)


def test_a_crash_keeps_what_was_flushed(record: Record) -> None:
    status, capture = record("crash", 10)
    assert status == -signal.SIGSEGV
    assert [row["start_ns"] for row in rows(converted(capture), "kernel")] == [
        1000 * n for n in range(1, 11)
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_with_all_records_written(
    programs: Programs,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    number: signal.Signals,
) -> None:
    folder = tmp_path / "ended.cupti"
    # Under nohup the program would inherit that SIGHUP is ignored.
    before = signal.signal(number, signal.SIG_DFL)
    request.addfinalizer(lambda: signal.signal(number, before))
    with programs.run(folder, "terminated", 10) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(10) == -number
    assert converted(folder).manifest.rows("kernel") == 10


@pytest.mark.parametrize(("count", "status"), [(3, 0), (4, signal.SIGTERM)])
def test_a_forked_child_writes_nothing_and_ends_as_it_would(
    record: Record, count: int, status: int
) -> None:
    ended, capture = record("fork", count)
    assert ended == status
    assert rows_of_file(only_file(capture)) == count


def rows_of_file(path: Path) -> int:
    return converted(path).manifest.rows("kernel")


def test_only_the_range_is_recorded(record: Record) -> None:
    _, capture = record("range", TRACEKIT_CUPTI_RANGE="cudaProfilerApi")
    starts = [row["start_ns"] for row in rows(converted(capture), "kernel")]
    assert starts == [3000, 4000, 5000, 6000]


def test_the_copy_that_the_program_loaded_is_used(
    record: Record, programs: Programs, tmp_path: Path
) -> None:
    own = tmp_path / "wheel" / "libcupti.so.13"
    own.parent.mkdir()
    shutil.copy(programs.cupti, own)
    # TRACEKIT_CUPTI_LIBRARY names another one, through which no record would come.
    status, capture = record("every", STAND_IN_OWN=str(own))
    assert status == 0
    assert rows_of_file(only_file(capture)) == 2


@pytest.mark.parametrize(
    ("runtime", "cupti"),
    [
        ("cu13/lib/libcudart.so.13", "cu13/lib/libcupti.so.13"),
        ("cuda_runtime/lib/libcudart.so.12", "cuda_cupti/lib/libcupti.so.12"),
    ],
)
def test_the_copy_that_came_with_the_programs_runtime_is_used(
    record: Record, programs: Programs, tmp_path: Path, runtime: str, cupti: str
) -> None:
    for name in (runtime, cupti):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(programs.cupti, tmp_path / name)
    status, capture = record(
        "every",
        STAND_IN_RUNTIME=str(tmp_path / runtime),
        STAND_IN_OWN=str(tmp_path / cupti),
    )
    assert status == 0
    assert rows_of_file(only_file(capture)) == 2


def test_ranks_come_from_the_environment(programs: Programs, tmp_path: Path) -> None:
    folder = tmp_path / "job.cupti"
    for rank in ("0", "1"):
        variables = {"RANK": rank, "WORLD_SIZE": "2", "SECRET": "hidden"}
        with programs.run(folder, "every", 0, **variables) as process:
            assert process.wait(30) == 0
    run = converted(folder)
    assert [(rank.rank, rank.source) for rank in run.manifest.ranks] == [
        (0, "environment"),
        (1, "environment"),
    ]
    # One GPU by its UUID, although two processes used it; each has one without.
    names = [row["name"] for row in rows(run, "device")]
    assert names == ["NVIDIA H200", None, None]
    assert {row["device_id"] for row in rows(run, "kernel")} == {0}
    assert b"hidden" not in b"".join(path.read_bytes() for path in folder.iterdir())


def test_every_cut_of_a_file_is_read_as_far_as_it_goes(record: Record) -> None:
    whole = only_file(record("every")[1]).read_bytes()
    (length,) = struct.unpack_from("<Q", whole, 8)
    begin = 16 + length
    kernels = set()
    for end in range(begin, len(whole), 40):
        cut = Path(f"cut-{end}.cupti").absolute()
        cut.write_bytes(whole[:end])
        kernels.add(rows_of_file(cut))
    assert kernels == {0, 2}


def test_a_cut_header_is_one_clear_error(record: Record, tmp_path: Path) -> None:
    whole = only_file(record("every")[1]).read_bytes()
    for end in (8, 15, 16, 300):
        cut = tmp_path / f"cut-{end}.cupti"
        cut.write_bytes(whole[:end])
        with pytest.raises(UnreadableTraceError, match="cut in its header"):
            converted(cut)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def collect(
    capfd: pytest.CaptureFixture[str],
    programs: Programs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Ran]:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    monkeypatch.setattr(checks, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(
        cupti_build.Headers, "cupti", property(lambda _: programs.cupti)
    )

    def call(*arguments: str | Path) -> Ran:
        return run(capfd, "collect", "--with", "cupti", *arguments)

    return call


def test_a_program_is_traced_by_a_collector_that_is_built_once(
    collect: Callable[..., Ran], programs: Programs
) -> None:
    done = collect("-o", "net.run", "--", programs.program, "every", "0")
    assert done.status == 0, done.err
    assert "Building the collector for CUPTI" in done.err
    assert f"{programs.program} every 0" in done.err
    assert open_run(Path("net.run")).manifest.rows("kernel") == 2
    # The second time it is there; 139 is what the program ends with.
    done = collect("-o", "crash.run", "--", programs.program, "crash", "10")
    assert done.status == 128 + signal.SIGSEGV
    assert "Building" not in done.err
    done = collect("-o", "idle.run", "--", programs.program, "nothing", "0")
    assert done.status == 125
    assert "holds no GPU work" in done.error
    done = collect("-o", "no.run", "--", "true")
    assert done.status == 125
    assert "no process of the program used CUDA" in done.error


def test_a_range_by_nvtx_is_refused(collect: Callable[..., Ran]) -> None:
    done = collect("-o", "net.run", "--range", "nvtx:step", "--", "true")
    assert done.status == 2
    assert "cannot record `nvtx:step` only" in done.error


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path) -> None:
    open_ = tmp_path / "open"
    open_.mkdir()
    open_.chmod(0o777)
    with pytest.raises(MissingToolError, match="not yours alone"):
        cupti_build.private_folder(open_)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(MissingToolError, match="not yours alone"):
        cupti_build.private_folder(link)
    if os.geteuid() == 0:
        foreign = tmp_path / "foreign"
        foreign.mkdir()
        os.chown(foreign, 65534, 65534)
        with pytest.raises(MissingToolError, match="not yours alone"):
            cupti_build.private_folder(foreign)


def test_headers_that_are_missing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupti_build, "_places", lambda: iter(()))
    with pytest.raises(MissingToolError, match="no CUPTI headers"):
        cupti_build.find_headers()
