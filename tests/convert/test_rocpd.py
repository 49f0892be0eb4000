"""rocpd databases of both schema versions."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.rocpd import UUID, Rows, as_version_4, database
from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.errors import UnreadableTraceError
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

SYMBOL = "_Z6vecAddPfi.kd"
STRINGS = (
    "HIP_RUNTIME_API",
    "hipLaunchKernel",
    "MARKER_CORE_RANGE_API",
    "roctxThreadRangeA",
    "MEMORY_COPY_HOST_TO_DEVICE",
    "RCCL_API",
    "ncclAllReduce",
    "HSA_CORE_API",
    "hsa_signal_wait_relaxed",
)
SHAPE = {
    "group_segment_size": 2048,
    "private_segment_size": 16,
    "workgroup_size_x": 256,
    "workgroup_size_y": 2,
    "workgroup_size_z": 1,
    "grid_size_x": 1000,
    "grid_size_y": 8,
    "grid_size_z": 1,
}
ON = {"nid": 1, "pid": 10, "tid": 20}


def kernel(number: int, start: int, end: int, **cells: object) -> dict[str, object]:
    told = {"id": number, "agent_id": 2, "kernel_id": 5, "stream_id": 3, "queue_id": 1}
    return {**ON, **told, **SHAPE, "start": start, "end": end, **cells}


ROWS: Rows = {
    "metadata": [{"tag": "schema_version", "value": "?"}],
    "string": [{"id": n, "string": s} for n, s in enumerate(STRINGS, start=1)],
    "info_node": [{"id": 1, "hash": 1, "machine_id": "m", "hostname": "node7"}],
    "info_process": [
        {
            "id": 10,
            "nid": 1,
            "pid": 4242,
            "command": "/usr/bin/python train.py",
            "environment": '{"RANK": "3", "AWS_SECRET_ACCESS_KEY": "hidden"}',
        }
    ],
    "info_thread": [{"id": 20, "nid": 1, "pid": 10, "tid": 4243, "name": "main"}],
    "info_agent": [
        {"id": 1, "nid": 1, "type": "CPU", "absolute_index": 0, "name": "cpu"},
        {
            "id": 2,
            "nid": 1,
            "type": "GPU",
            "absolute_index": 1,
            "name": "gfx942",
            "product_name": "AMD Instinct MI300X",
            "uuid": 5,
            "extdata": '{"cu_count": 304, "wave_front_size": 64, "domain": 0,'
            ' "location_id": 29952, "max_engine_clk_fcompute": 2100}',
        },
    ],
    "info_kernel_symbol": [
        {"id": 5, "kernel_name": SYMBOL, "display_name": "vecAdd(float*, int)"},
        {"id": 6, "kernel_name": "copy.kd", "arch_vgpr_count": 8},
    ],
    "info_pmc": [{"id": 1, "name": "SQ_WAVES", "symbol": "SQ_WAVES", "units": "waves"}],
    "event": [
        {"id": 1, "category_id": 1, "correlation_id": 100},
        {"id": 2, "correlation_id": 100},
        {"id": 3, "category_id": 3, "extdata": '{"message": "step 1"}'},
        {"id": 4, "correlation_id": 0},
        {"id": 5, "category_id": 6},
        {"id": 6, "category_id": 8, "correlation_id": 7},
        {"id": 7},
    ],
    "region": [
        {**ON, "id": 1, "start": 10, "end": 20, "name_id": 2, "event_id": 1},
        {**ON, "id": 2, "start": 5, "end": 500, "name_id": 4, "event_id": 3},
        {**ON, "id": 3, "start": 30, "end": 40, "name_id": 7, "event_id": 5},
        {**ON, "id": 4, "start": 41, "end": 44, "name_id": 9, "event_id": 6},
    ],
    "kernel_dispatch": [
        kernel(1, 100, 200, event_id=2),
        kernel(2, 150, 300, event_id=4, kernel_id=6, tid=None),
    ],
    "memory_copy": [
        {
            **ON,
            "id": 1,
            "start": 310,
            "end": 350,
            "name_id": 5,
            "dst_agent_id": 2,
            "src_agent_id": 1,
            "size": 4096,
            "stream_id": 3,
        }
    ],
    "memory_allocate": [
        {
            **ON,
            "id": 1,
            "agent_id": 2,
            "type": "ALLOC",
            "level": "REAL",
            "start": 1,
            "end": 2,
            "address": 65536,
            "size": 4096,
        },
        {**ON, "id": 2, "type": "FREE", "start": 3, "end": 4, "address": 65536},
    ],
    "track": [{"id": 50, "nid": 1, "pid": 10}],
    "sample": [{"id": 1, "track_id": 50, "timestamp": 77, "event_id": 7}],
    "pmc_event": [
        {"id": 1, "event_id": 2, "pmc_id": 1, "value": 32.0},
        {"id": 2, "event_id": 7, "pmc_id": 9, "value": 1.5},
        {"id": 3, "event_id": 999, "pmc_id": 1, "value": 5.0},
    ],
}

Converted = Callable[..., Run]


@pytest.fixture(params=[3, 4])
def converted(request: pytest.FixtureRequest, tmp_path: Path) -> Converted:
    """Convert the same rows as either version keeps them."""
    version: int = request.param

    def run(rows: Rows = ROWS, without: tuple[str, ...] = ()) -> Run:
        metadata = [{"tag": "schema_version", "value": f"{version}.0.0"}]
        rows = {**rows, "metadata": metadata}
        kept = as_version_4(rows) if version == 4 else rows
        path = database(tmp_path / "4242_results.db", version, kept, without=without)
        return convert([path], tmp_path / "run")

    return run


def test_kernels(converted: Converted) -> None:
    run = converted()
    assert run.manifest.source.format == "rocpd"
    first, second = rows_of_run(run, "kernel")
    names = ("name", "mangled_name", "canonical_name", "short_name")
    full = "vecAdd(float*, int)"
    assert [first[n] for n in names] == [full, "_Z6vecAddPfi", full, "vecAdd"]
    assert [second[n] for n in names] == ["copy", None, "copy", "copy"]
    assert (first["start_ns"], first["end_ns"]) == (100, 200)
    # AMD counts a grid in threads: 1000 / 256 and 8 / 2 blocks.
    assert [first[f"grid_{axis}"] for axis in "xyz"] == [4, 4, 1]
    assert [first[f"block_{axis}"] for axis in "xyz"] == [256, 2, 1]
    told = ("device_id", "process_id", "stream_id", "correlation_id", "shared_bytes")
    assert [first[n] for n in told] == [0, 0, 3, 100, 2048]
    # Correlation 0 ties to nothing.
    assert second["correlation_id"] is None
    assert second["registers_per_thread"] == 8


def test_busy_time(converted: Converted) -> None:
    (row,) = run_module(load_module("gpu.utilization"), [converted()]).table.to_pylist()
    found = [row[name] for name in ("window_ns", "kernel_busy_ns", "gpu_busy_ns")]
    assert found == [250, 200, 240]


def test_calls_markers_and_libraries(converted: Converted) -> None:
    run = converted()
    calls = [
        (c["domain"], c["name"], c["start_ns"], c["correlation_id"])
        for c in rows_of_run(run, "api_call")
    ]
    assert calls == [
        ("runtime", "hipLaunchKernel", 10, 100),
        ("driver", "hsa_signal_wait_relaxed", 41, 7),
    ]
    (marker,) = rows_of_run(run, "annotation")
    assert (marker["kind"], marker["text"]) == ("push_pop", "step 1")
    assert (marker["start_ns"], marker["end_ns"]) == (5, 500)
    (call,) = rows_of_run(run, "library_call")
    assert (call["library"], call["name"]) == ("rccl", "ncclAllReduce")


def test_copies_and_memory(converted: Converted) -> None:
    run = converted()
    (copy,) = rows_of_run(run, "memcpy")
    assert (copy["copy_kind"], copy["bytes"], copy["device_id"]) == ("HtoD", 4096, 0)
    assert copy["source_device_id"] is None
    events = rows_of_run(run, "memory_event")
    assert [(e["kind"], e["bytes"], e["time_ns"]) for e in events] == [
        ("allocate", 4096, 1),
        ("free", None, 3),
    ]


def test_counters(converted: Converted) -> None:
    run = converted()
    (metric,) = rows_of_run(run, "kernel_metric")
    assert (metric["kernel_id"], metric["metric"], metric["value"]) == (
        0,
        "SQ_WAVES",
        32.0,
    )
    assert (metric["unit"], metric["match_kind"]) == ("waves", "correlation")
    (sample,) = rows_of_run(run, "counter_sample")
    assert (sample["metric"], sample["time_ns"], sample["value"]) == (
        "counter_9",
        77,
        1.5,
    )
    skipped = {n.what: n.count for n in run.manifest.skipped}
    assert skipped == {"rocpd_pmc_event": 1}


def test_device_process_and_rank(converted: Converted) -> None:
    run = converted()
    (device,) = rows_of_run(run, "device")
    assert (device["name"], device["chip"]) == ("AMD Instinct MI300X", "gfx942")
    assert (device["bus"], device["sm_count"]) == ("0000:75:00.0", 304)
    assert device["max_clock_hz"] == 2_100_000_000
    assert device["peak_fp32_flops"] is None
    (process,) = rows_of_run(run, "process")
    assert (process["os_pid"], process["name"]) == (4242, "python")
    (thread,) = rows_of_run(run, "thread")
    assert (thread["os_tid"], thread["name"]) == (4243, "main")
    (rank,) = run.manifest.ranks
    assert (rank.rank, rank.source) == (3, "environment")


def test_secrets_of_the_environment_stay_behind(
    converted: Converted, tmp_path: Path
) -> None:
    run = converted()
    facts = {row["key"]: row["value"] for row in rows_of_run(run, "run_fact")}
    assert facts == {"env.RANK": "3"}
    assert [n.count for n in run.manifest.left_behind] == [1]
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"hidden" not in file.read_bytes()


def test_the_reader_says_that_it_is_new(converted: Converted) -> None:
    tools = converted().manifest.source.tools
    assert tools == {"rocprofv3": "(experimental reader)"}


@pytest.mark.parametrize(
    "without",
    [
        ("region", "memory_copy", "memory_allocate", "sample", "pmc_event"),
        ("info_agent", "info_thread", "info_process", "info_node"),
        ("event", "info_kernel_symbol", "string", "metadata"),
    ],
)
def test_missing_tables_cost_what_they_hold(
    converted: Converted, without: tuple[str, ...]
) -> None:
    run = converted(without=without)
    assert [(k["start_ns"], k["end_ns"]) for k in rows_of_run(run, "kernel")] == [
        (100, 200),
        (150, 300),
    ]


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("kernel_dispatch", "grid_size_x", "'n/a'"),
        ("kernel_dispatch", "workgroup_size_x", "0"),
        ("kernel_dispatch", "kernel_id", "1e300"),
        ("event", "correlation_id", "'nan'"),
        ("event", "extdata", "x'ff00fe'"),
        ("string", "string", "CAST(x'ff00fe' AS TEXT)"),
        ("info_process", "environment", "'{'"),
        ("info_agent", "extdata", "'[1, 2]'"),
        ("info_kernel_symbol", "kernel_name", "NULL"),
    ],
)
def test_hostile_cells_cost_a_cell(
    table: str, column: str, value: str, tmp_path: Path
) -> None:
    path = database(tmp_path / "a.db", 3, ROWS)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE `rocpd_{table}{UUID}` SET {column} = {value}")
    run = convert([path], tmp_path / "run")
    assert [k["start_ns"] for k in rows_of_run(run, "kernel")] == [100, 150]


def test_a_time_that_is_not_there_is_rejected(tmp_path: Path) -> None:
    rows = dict(as_version_4(ROWS))
    rows["timestamp"] = [t for t in rows["timestamp"] if t["value"] != 300]
    path = database(tmp_path / "a.db", 4, rows)
    run = convert([path], tmp_path / "run")
    assert [k["start_ns"] for k in rows_of_run(run, "kernel")] == [100]
    (bad,) = rows_of_run(run, "rejected")
    assert (bad["table_name"], bad["reason"]) == ("kernel", "no end was recorded")


def test_a_merged_database_has_the_processes_of_both(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", 3, ROWS)
    other: Rows = {**ROWS, "kernel_dispatch": [kernel(1, 900, 950)]}
    database(path, 3, other, uuid="_ffffabcd_0192_7000_8000_0123456789ab")
    run = convert([path], tmp_path / "run")
    kernels = rows_of_run(run, "kernel")
    assert [(k["process_id"], k["start_ns"]) for k in kernels] == [
        (0, 100),
        (0, 150),
        (1, 900),
    ]
    # It is one GPU, whichever part lists it.
    assert run.manifest.rows("device") == 1
    assert run.manifest.rows("process") == 2


def test_a_database_cut_short_is_refused_in_one_line(tmp_path: Path) -> None:
    whole = database(tmp_path / "a.db", 3, ROWS).read_bytes()
    path = tmp_path / "cut.db"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableTraceError) as caught:
        convert([path], tmp_path / "run")
    assert "\n" not in str(caught.value)
