"""nvprof databases, whole and spoiled."""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.nvprof import PREFIX, START, database, owner, place
from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.convert.nvprof.callbacks import callback_name
from tracekit.errors import UnreadableTraceError
from tracekit.query import load_module, run_module

SYMBOL = "_Z9vectorAddPKfS0_Pfi"
STRINGS = ("python train.py --token abc", "TITAN V", SYMBOL, "sgemm_nn", "step 1", "ml")
PID, TID = 248, -635091200
KERNEL = {"deviceId": 0, "contextId": 1, "streamId": 7, "name": 3}
DEVICE = {
    "id": 0,
    "name": 2,
    "computeCapabilityMajor": 7,
    "numMultiprocessors": 80,
    "coreClockRate": 1_455_000,
    "globalMemoryBandwidth": 652_800_000,
    "globalMemorySize": 12_621_381_632,
    "uuid": bytes(range(16)),
}


def span(start: int, end: int, **cells: object) -> dict[str, object]:
    return {"start": START + start, "end": START + end, **cells}


def call(start: int, end: int, cbid: int, correlation: int) -> dict[str, object]:
    return span(
        start, end, cbid=cbid, processId=PID, threadId=TID, correlationId=correlation
    )


Rows = dict[str, list[dict[str, object]]]

ROWS: Rows = {
    "DEVICE": [DEVICE],
    "CONTEXT": [{"contextId": 1, "deviceId": 0, "nullStreamId": 7}],
    "STREAM": [{"contextId": 1, "streamId": 13, "priority": -1, "flag": 2}],
    "NAME": [
        {"objectKind": 1, "objectId": owner(PID), "name": 1},
        {"objectKind": 5, "objectId": place(0, 1, 13), "name": 6},
    ],
    "RUNTIME": [call(0, 10, 211, 1), call(12, 15, 3, 2)],
    "DRIVER": [call(20, 30, 307, 3), call(31, 32, 99_999, 4)],
    "CONCURRENT_KERNEL": [
        span(100, 200, **KERNEL, correlationId=1, gridX=4, blockX=256, launchType=1),
        span(150, 300, **{**KERNEL, "name": 4}, correlationId=3),
    ],
    "KERNEL": [span(400, 450, **KERNEL, correlationId=9)],
    "MEMCPY": [
        span(310, 350, copyKind=1, srcKind=1, dstKind=3, bytes=112, correlationId=5)
    ],
    "MEMCPY2": [
        span(351, 360, copyKind=10, bytes=64, deviceId=0, srcDeviceId=0, dstDeviceId=3)
    ],
    "MEMSET": [span(361, 370, value=7, bytes=32, memoryKind=3)],
}


def test_kernels_of_both_tables_with_demangled_names(tmp_path: Path) -> None:
    run = convert([database(tmp_path / "a.nvprof", STRINGS, ROWS)], tmp_path / "run")
    assert run.manifest.source.format == "nvprof-sqlite"
    assert run.manifest.source.schema_version == "12"
    kernels = rows_of_run(run, "kernel")
    full = "vectorAdd(float const*, float const*, float*, int)"
    names = ("name", "mangled_name", "canonical_name", "short_name")
    assert [tuple(k[n] for n in names) for k in kernels] == [
        (full, SYMBOL, full, "vectorAdd"),
        ("sgemm_nn", None, "sgemm_nn", "sgemm_nn"),
        (full, SYMBOL, full, "vectorAdd"),
    ]
    first = kernels[0]
    assert (first["start_ns"], first["end_ns"]) == (START + 100, START + 200)
    assert (first["grid_x"], first["block_x"]) == (4, 256)
    assert first["launch_type"] == "cooperative"
    assert {k["process_id"] for k in kernels} == {0}


def test_times_count_from_the_unix_epoch(tmp_path: Path) -> None:
    run = convert([database(tmp_path / "a.nvprof", STRINGS, ROWS)], tmp_path / "run")
    (rank,) = run.manifest.ranks
    assert rank.origin_utc_ns == 0
    assert run.manifest.run_id.startswith("20181129t153325z-a-")


def test_busy_time_counts_instants_once(tmp_path: Path) -> None:
    run = convert([database(tmp_path / "a.nvprof", STRINGS, ROWS)], tmp_path / "run")
    (row,) = run_module(load_module("gpu.utilization"), [run]).table.to_pylist()
    # 100-300 and 400-450 kernels; 310-350, 351-360, 361-370 copies and a fill.
    assert row["window_ns"] == 350
    assert row["kernel_busy_ns"] == 250
    assert row["gpu_busy_ns"] == 250 + 40 + 9 + 9


def test_copies_and_fills(tmp_path: Path) -> None:
    run = convert([database(tmp_path / "a.nvprof", STRINGS, ROWS)], tmp_path / "run")
    first, second = rows_of_run(run, "memcpy")
    assert (first["copy_kind"], first["bytes"]) == ("HtoD", 112)
    assert first["source_memory_kind"] == "pageable"
    assert first["destination_memory_kind"] == "device"
    assert second["copy_kind"] == "PtoP"
    # A device that only a copy names is a device too.
    assert second["destination_device_id"] == 1
    assert [d["device_id"] for d in rows_of_run(run, "device")] == [0, 1]
    (fill,) = rows_of_run(run, "memset")
    assert (fill["value"], fill["bytes"], fill["memory_kind"]) == (7, 32, "device")


def test_calls_are_named_by_their_callback(tmp_path: Path) -> None:
    run = convert([database(tmp_path / "a.nvprof", STRINGS, ROWS)], tmp_path / "run")
    calls = rows_of_run(run, "api_call")
    assert [(c["domain"], c["name"], c["correlation_id"]) for c in calls] == [
        ("runtime", "cudaLaunchKernel", 1),
        ("runtime", "cudaGetDeviceCount", 2),
        ("driver", "cuLaunchKernel", 3),
        ("driver", "driver_callback_99999", 4),
    ]
    (thread,) = rows_of_run(run, "thread")
    # It is half of a pthread id, not an id of the operating system.
    assert thread["os_tid"] is None
    (process,) = rows_of_run(run, "process")
    assert (process["os_pid"], process["name"]) == (PID, "python")


def test_the_command_is_told_without_its_secret(tmp_path: Path) -> None:
    run = convert([database(tmp_path / "a.nvprof", STRINGS, ROWS)], tmp_path / "run")
    assert run.manifest.command is not None
    assert run.manifest.command.startswith("python train.py --token")
    assert "abc" not in run.manifest.command


def test_the_device_in_its_units(tmp_path: Path) -> None:
    run = convert([database(tmp_path / "a.nvprof", STRINGS, ROWS)], tmp_path / "run")
    device = rows_of_run(run, "device")[0]
    assert device["name"] == "TITAN V"
    assert device["uuid"] == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert device["max_clock_hz"] == 1_455_000_000
    assert device["memory_bandwidth"] == 652_800_000_000
    assert device["peak_fp32_flops"] == 2 * 64 * 80 * 1_455_000_000
    (stream,) = rows_of_run(run, "stream")
    assert (stream["name"], stream["kind"], stream["priority"]) == (
        "ml",
        "non_blocking",
        -1,
    )


def marker(flags: int, time: int, number: int, **cells: object) -> dict[str, object]:
    told = {"objectKind": 2, "objectId": owner(PID, TID), "domain": 6}
    return {"flags": flags, "timestamp": START + time, "id": number, **told, **cells}


def test_markers_become_ranges(tmp_path: Path) -> None:
    markers = [
        marker(2, 10, 1, name=5),
        marker(2, 20, 2, name=4, objectKind=1),
        marker(1, 25, 3, name=4, domain=0),
        marker(4, 30, 1),
        marker(4, 40, 2, objectId=owner(PID, 5)),
        marker(2, 50, 4, name=5),
        marker(4, 60, 99),
    ]
    data: list[dict[str, object]] = [{"id": 1, "category": 8}]
    rows: Rows = {**ROWS, "MARKER": markers, "MARKER_DATA": data}
    run = convert([database(tmp_path / "a.nvprof", STRINGS, rows)], tmp_path / "run")
    found = [
        (r["kind"], r["domain"], r["text"], r["category"], r["start_ns"], r["end_ns"])
        for r in rows_of_run(run, "annotation")
    ]
    at = START.__add__
    assert found == [
        ("push_pop", "ml", "step 1", "8", at(10), at(30)),
        ("start_end", "ml", "sgemm_nn", None, at(20), at(40)),
        ("mark", None, "sgemm_nn", None, at(25), at(25)),
        ("push_pop", "ml", "step 1", None, at(50), None),
    ]
    assert [(s.what, s.count) for s in run.manifest.skipped] == [("MARKER", 1)]
    crossing = rows_of_run(run, "annotation")[1]
    assert crossing["end_thread_id"] != crossing["thread_id"]


def test_metrics_and_events_belong_to_their_kernel(tmp_path: Path) -> None:
    metrics: list[dict[str, object]] = [
        {"id": 7, "value": struct.pack("<d", 0.25), "correlationId": 1},
        {"id": 8, "value": struct.pack("<q", 16_777_216), "correlationId": 1},
        {"id": 8, "value": struct.pack("<q", 0), "correlationId": 3},
        {"id": 8, "value": struct.pack("<q", 5), "correlationId": 77},
        {"id": 9, "value": struct.pack("<d", 1.0), "correlationId": 3, "flags": 2},
        {"id": 9, "value": struct.pack("<d", float("nan")), "correlationId": 3},
        {"id": 9, "value": b"short", "correlationId": 3},
    ]
    events: list[dict[str, object]] = [{"id": 100, "value": 42, "correlationId": 9}]
    rows: Rows = {**ROWS, "METRIC": metrics, "EVENT": events}
    run = convert([database(tmp_path / "a.nvprof", STRINGS, rows)], tmp_path / "run")
    found = {
        (r["kernel_id"], r["metric"]): (r["value"], r["match_kind"])
        for r in rows_of_run(run, "kernel_metric")
    }
    assert found == {
        (0, "metric_7"): (0.25, "correlation"),
        (0, "metric_8"): (16_777_216.0, "correlation"),
        (1, "metric_8"): (0.0, "correlation"),
        (2, "event_100"): (42.0, "correlation"),
        (None, "metric_8"): (5.0, None),
    }
    (joined,) = run.manifest.joined
    assert (joined.tool, joined.launches, joined.matched) == ("nvprof", 4, 3)
    assert [(s.what, s.count) for s in run.manifest.skipped] == [("METRIC", 3)]


def test_counters_match_where_no_process_was_recorded(tmp_path: Path) -> None:
    rows: Rows = {
        "KERNEL": [span(1, 2, **KERNEL, correlationId=4)],
        "EVENT": [{"id": 1, "value": 3, "correlationId": 4}],
    }
    run = convert([database(tmp_path / "a.nvprof", STRINGS, rows)], tmp_path / "run")
    (row,) = rows_of_run(run, "kernel_metric")
    assert (row["kernel_id"], row["value"], row["process_id"]) == (0, 3.0, None)
    assert row["kernel_name"].startswith("vectorAdd(")


def test_unified_memory_moves_and_faults(tmp_path: Path) -> None:
    none = 2**32 - 1
    counters = [
        span(1, 9, counterKind=1, value=4096, srcId=none, dstId=0, processId=PID),
        span(2, 8, counterKind=2, value=65536, srcId=0, dstId=none, processId=PID),
        span(3, 3, counterKind=3, value=140_000, processId=PID),
        span(4, 6, counterKind=4, value=17, srcId=0, processId=PID),
        span(5, 6, counterKind=99, value=1, processId=PID),
    ]
    rows: Rows = {
        **ROWS,
        "MEMCPY": [],
        "MEMCPY2": [],
        "UNIFIED_MEMORY_COUNTER": counters,
    }
    run = convert([database(tmp_path / "a.nvprof", STRINGS, rows)], tmp_path / "run")
    copies = [
        (r["copy_kind"], r["bytes"], r["device_id"], r["end_ns"] - r["start_ns"])
        for r in rows_of_run(run, "memcpy")
    ]
    assert copies == [("unified_HtoD", 4096, 0, 8), ("unified_DtoH", 65536, 0, 6)]
    samples = [
        (r["metric"], r["device_id"], r["value"])
        for r in rows_of_run(run, "counter_sample")
    ]
    assert samples == [
        ("unified memory CPU page faults", None, 1.0),
        ("unified memory GPU page faults", 0, 17.0),
    ]


def test_overhead_syncs_environment_and_memory(tmp_path: Path) -> None:
    rows: Rows = {
        **ROWS,
        "OVERHEAD": [
            span(1, 3, overheadKind=2 << 16, objectKind=1, objectId=owner(PID))
        ],
        "SYNCHRONIZATION": [
            span(5, 6, type=3, contextId=1, streamId=7, cudaEventId=2**32 - 1)
        ],
        "CUDA_EVENT": [{"contextId": 1, "streamId": 7, "eventId": 5}],
        "ENVIRONMENT": [
            {
                "timestamp": START + 3,
                "environmentKind": 3,
                "data": struct.pack("<II", 250_000, 300_000),
            },
            {"timestamp": START, "environmentKind": 2, "data": b""},
        ],
        "MEMORY": [
            span(1, 9, memoryKind=3, address=-8, bytes=512, processId=PID, contextId=1)
        ],
        "PC_SAMPLING": [{"samples": 3}],
    }
    run = convert([database(tmp_path / "a.nvprof", STRINGS, rows)], tmp_path / "run")
    (cost,) = rows_of_run(run, "overhead")
    assert cost["kind"] == "CUPTI instrumentation"
    (sync,) = rows_of_run(run, "sync")
    assert (sync["kind"], sync["device_id"], sync["event_id"]) == ("stream", 0, None)
    (event,) = rows_of_run(run, "cuda_event")
    assert (event["event_id"], event["time_ns"]) == (5, None)
    samples = rows_of_run(run, "counter_sample")
    assert [(s["metric"], s["unit"], s["value"]) for s in samples] == [
        ("power", "mW", 250_000.0),
        ("power limit", "mW", 300_000.0),
    ]
    events = rows_of_run(run, "memory_event")
    assert [(e["kind"], e["bytes"], e["time_ns"] - START) for e in events] == [
        ("allocate", 512, 1),
        ("free", 512, 9),
    ]
    assert {s.what for s in run.manifest.skipped} == {
        "ENVIRONMENT",
        f"{PREFIX}PC_SAMPLING",
    }


def test_two_processes_in_a_database(tmp_path: Path) -> None:
    def of(process: int, correlation: int) -> dict[str, object]:
        return {**call(1, 2, 211, correlation), "processId": process}

    rows: Rows = {
        "RUNTIME": [of(10, 1), of(20, 2), of(10, 3), of(20, 3)],
        "CONCURRENT_KERNEL": [
            span(place, place + 1, **KERNEL, correlationId=place) for place in (1, 2, 3)
        ],
    }
    run = convert([database(tmp_path / "a.nvprof", STRINGS, rows)], tmp_path / "run")
    # Both used id 3: whose kernel it is cannot be told.
    assert [k["process_id"] for k in rows_of_run(run, "kernel")] == [0, 1, None]


def test_an_empty_database_opens_and_says_so(tmp_path: Path) -> None:
    run = convert([database(tmp_path / "a.nvvp")], tmp_path / "run")
    assert run.manifest.rows("kernel") == 0
    (message,) = rows_of_run(run, "diagnostic")
    assert message["text"] == (
        "the database is whole and holds no events: nothing was recorded in it"
    )
    assert "--metrics" in run.manifest.absent["kernel_metric"]


@pytest.mark.parametrize(
    "without",
    [
        ("MEMCPY", "MARKER", "DEVICE", "CONTEXT", "STREAM", "NAME", "DRIVER"),
        ("RUNTIME", "DRIVER"),
        ("DEVICE.uuid", "NAME.objectId", "CONTEXT.nullStreamId"),
        ("CONCURRENT_KERNEL.launchType", "CONCURRENT_KERNEL.sharedMemoryExecuted"),
    ],
)
def test_older_databases_lack_tables_and_columns(
    without: tuple[str, ...], tmp_path: Path
) -> None:
    path = database(tmp_path / "a.nvprof", STRINGS, ROWS, without=without)
    run = convert([path], tmp_path / "run")
    assert run.manifest.rows("kernel") == 3


def test_a_table_without_what_it_needs_is_told(tmp_path: Path) -> None:
    path = database(tmp_path / "a", STRINGS, ROWS, without=("KERNEL.start",))
    run = convert([path], tmp_path / "run")
    assert run.manifest.rows("kernel") == 2
    (note,) = run.manifest.skipped
    assert note.what == f"{PREFIX}KERNEL"
    assert "`start`" in note.reason


def spoiled(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE {PREFIX}CONCURRENT_KERNEL SET gridX = 'n/a'",
        f"UPDATE {PREFIX}CONCURRENT_KERNEL SET gridX = 9223372036854775807",
        f"UPDATE {PREFIX}CONCURRENT_KERNEL SET name = 12345, streamId = NULL",
        f"UPDATE {PREFIX}CONCURRENT_KERNEL SET name = -1, contextId = 1e300",
        f"UPDATE {PREFIX}RUNTIME SET cbid = -5, threadId = NULL",
        f"UPDATE {PREFIX}RUNTIME SET processId = NULL",
        f"UPDATE {PREFIX}NAME SET objectId = x'00', name = 77",
        f"UPDATE {PREFIX}DEVICE SET uuid = 'text', coreClockRate = 'nan', id = NULL",
        f"UPDATE {PREFIX}CONTEXT SET deviceId = NULL",
        "UPDATE StringTable SET value = CAST(x'ff00fe' AS TEXT) WHERE _id_ = 3",
        "DROP TABLE StringTable_",
    ],
)
def test_hostile_cells_cost_a_cell_and_no_more(statement: str, tmp_path: Path) -> None:
    path = database(tmp_path / "a.nvprof", STRINGS, ROWS)
    if statement.endswith("StringTable_"):
        statement = "DELETE FROM StringTable"
    run = convert([spoiled(path, statement)], tmp_path / "run")
    assert run.manifest.rows("kernel") == 3
    starts = [k["start_ns"] - START for k in rows_of_run(run, "kernel")]
    assert starts == [100, 150, 400]


def test_a_negative_duration_is_rejected(tmp_path: Path) -> None:
    rows: Rows = {**ROWS, "KERNEL": [span(400, 350, **KERNEL), {**KERNEL, "start": 5}]}
    run = convert([database(tmp_path / "a", STRINGS, rows)], tmp_path / "run")
    assert run.manifest.rows("kernel") == 2
    reasons = sorted(row["reason"] for row in rows_of_run(run, "rejected"))
    assert reasons == ["the end is 0", "the end is before the start"]


def test_a_database_cut_short_is_refused_in_one_line(tmp_path: Path) -> None:
    whole = database(tmp_path / "a.nvprof", STRINGS, ROWS).read_bytes()
    path = tmp_path / "cut.nvprof"
    for part in (0.2, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(UnreadableTraceError) as caught:
            convert([path], tmp_path / "run")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("domain", "number", "name"),
    [
        ("runtime", 10, "cudaGetLastError"),
        ("runtime", 16, "cudaSetDevice"),
        ("runtime", 20, "cudaMalloc"),
        ("runtime", 211, "cudaLaunchKernel"),
        ("driver", 307, "cuLaunchKernel"),
        ("runtime", 0, None),
        ("driver", -1, None),
    ],
)
def test_callbacks_have_cuptis_numbers(
    domain: str, number: int, name: str | None
) -> None:
    assert callback_name(domain, number) == name


def test_rank_comes_from_the_name_of_the_file(tmp_path: Path) -> None:
    paths = [
        database(tmp_path / f"trace.rank{rank}.nvprof", STRINGS, ROWS)
        for rank in (0, 1)
    ]
    run = convert(paths, tmp_path / "run")
    found = [(rank.rank, rank.source) for rank in run.manifest.ranks]
    assert found == [(0, "file_name"), (1, "file_name")]
    # Ids are unique over the ranks of a run.
    assert [p["process_id"] for p in rows_of_run(run, "process")] == [0, 1]
    assert {k["process_id"] for k in rows_of_run(run, "kernel")} == {0, 1}
    assert len({t["thread_id"] for t in rows_of_run(run, "thread")}) == 2
