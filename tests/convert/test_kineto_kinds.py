"""What the tables hold of each kind of event in a PyTorch trace."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.kineto import rows
from tests.support.kineto_text import (
    Event,
    converted,
    kernel,
    launch,
    notes,
    only_row,
    operator,
    text_of,
)
from tracekit.convert import Request, convert
from tracekit.convert.kineto.sources import kineto_sources
from tracekit.query import load_module, run_module
from tracekit.schema import HOST_RANK, TABLES


def test_the_first_schema(tmp_path: Path) -> None:
    """2020: other categories, a stream as text, `Input dims`."""
    events = [
        operator(1, cat="Operator", args={"Input dims": [[3]], "Device": 42}),
        operator(2, cat="Operator", name="ProfilerStep#7"),
        launch(1, cat="Runtime"),
        kernel(1, cat="Kernel", pid="0", tid="stream 7", args={"correlation": 1}),
        kernel(2, cat="Memcpy", name="Memcpy HtoD (Pageable -> Device)"),
        kernel(3, cat="Memset", name="Memset (Device)"),
    ]
    run = converted(tmp_path, json.dumps({"traceEvents": events}))
    assert only_row(run, "operator")["input_shapes"] == "[[3]]"
    assert only_row(run, "step")["step_index"] == 7
    found = only_row(run, "kernel")
    assert (found["stream_id"], found["device_id"]) == (7, 0)
    assert only_row(run, "memcpy")["source_memory_kind"] == "pageable"
    assert only_row(run, "memset")["memory_kind"] == "device"
    assert only_row(run, "api_call")["domain"] == "runtime"


def test_steps_and_their_projection(tmp_path: Path) -> None:
    step = {
        "ph": "X",
        "cat": "user_annotation",
        "name": "ProfilerStep#4",
        "pid": 42,
        "tid": 43,
        "ts": 1,
        "dur": 100,
        "args": {},
    }
    projected = {**step, "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "ts": 5}
    run = converted(tmp_path, text_of([step, projected, kernel(1)]))
    found = only_row(run, "step")
    assert (found["step_index"], found["start_ns"], found["end_ns"]) == (
        4,
        1000,
        101000,
    )
    assert found["source"] == "profiler"
    annotations = rows(run, "annotation")
    assert [(a["category"], a["thread_id"]) for a in annotations] == [
        (None, 0),
        ("gpu_user_annotation", None),
    ]


def test_annotations_that_number_iterations_are_steps(tmp_path: Path) -> None:
    events: list[Event | str] = []
    for number in range(3):
        mark = operator(number, cat="user_annotation", name=f"iteration {number}")
        events += [mark, {**mark, "cat": "gpu_user_annotation", "pid": 0, "tid": 7}]
    run = converted(tmp_path, text_of([*events, kernel(1)]))
    assert [row["step_index"] for row in rows(run, "step")] == [0, 1, 2]


def test_synchronizations_are_no_work(tmp_path: Path) -> None:
    wait = kernel(
        2,
        cat="cuda_sync",
        name="Stream Wait Event",
        args={
            "cuda_sync_kind": "Stream Wait Event",
            "wait_on_cuda_event_id": 7777,
            "stream": 7,
            "correlation": 9,
            "device": 0,
            "context": 1,
        },
    )
    unknown = kernel(3, cat="cuda_sync", name="Event Sync")
    unknown["args"] = {"stream": -1, "wait_on_cuda_event_id": -1, "device": 0}
    run = converted(tmp_path, text_of([kernel(1), wait, unknown]))
    found = rows(run, "sync")
    assert [(r["kind"], r["event_id"], r["stream_id"]) for r in found] == [
        ("stream_wait_event", 7777, 7),
        ("event", None, None),
    ]
    (row,) = run_module(load_module("gpu.utilization"), [run]).table.to_pylist()
    assert row["gpu_busy_ns"] == 2500


def test_host_operators_with_a_stream_are_of_the_host(tmp_path: Path) -> None:
    run = converted(tmp_path, text_of([operator(1, args={"stream": 0}), kernel(3)]))
    assert run.manifest.rows("kernel") == 1
    assert run.manifest.rows("operator") == 1


def memory(number: int, size: int, **args: object) -> Event:
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 42,
        "tid": 43,
        "ts": number,
        "args": {
            "Bytes": size,
            "Addr": 2**63 + 512,
            "Device Id": 0,
            "Device Type": 1,
            "Total Allocated": 512,
            "Total Reserved": 1024,
            **args,
        },
    }


def test_allocations(tmp_path: Path) -> None:
    on_cpu = {"Device Type": 0, "Device Id": -1}
    events = [memory(1, 512), memory(2, -512), memory(3, 64, **on_cpu)]
    run = converted(tmp_path, text_of([*events, kernel(1)]))
    names = ("time_ns", "kind", "bytes", "device_id", "memory_kind")
    assert [tuple(row[n] for n in names) for row in rows(run, "memory_event")] == [
        (1000, "allocate", 512, 0, "device"),
        (2000, "free", 512, 0, "device"),
        (3000, "allocate", 64, None, "pageable"),
    ]
    first = rows(run, "memory_event")[0]
    assert first["address"] == 512 - 2**63
    assert (first["total_allocated_bytes"], first["total_reserved_bytes"]) == (
        512,
        1024,
    )


COMMUNICATION = {
    "Collective name": "_allgather_base",
    "In msg nelems": 1000,
    "Out msg nelems": 8000,
    "Group size": 8,
    "dtype": "BFloat16",
    "Process Group Name": "5",
    "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]",
    "Seq": 17,
}


def test_collectives(tmp_path: Path) -> None:
    asked = operator(1, name="record_param_comms", args=COMMUNICATION)
    done = kernel(1, name="ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)")
    done["args"] |= {**COMMUNICATION, "Process Group Ranks": "[0, 1, ..., 7]"}
    named = kernel(2, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")
    rccl = kernel(3, name="void RCCL_thing<1>()")
    run = converted(tmp_path, text_of([asked, done, named, rccl, kernel(4)]))
    found = rows(run, "collective")
    names = ("source", "operation", "bytes", "group_size", "communicator", "sequence")
    assert [tuple(row[name] for name in names) for row in found] == [
        ("operator", "all_gather", 16_000, 8, "5", 17),
        ("kernel", "all_gather", 16_000, 8, "5", 17),
        ("kernel", "all_reduce", None, None, None, None),
        ("kernel", None, None, None, None, None),
    ]
    assert [row["ranks"] for row in found[:2]] == ["[0,1,2,3,4,5,6,7]", None]
    assert [row["reduction"] for row in found] == [None, None, "sum", None]
    assert [row["data_type"] for row in found[:2]] == ["bfloat16", "bfloat16"]
    assert run.manifest.rows("kernel") == 4


STATIC = ("DtoA", "managed_static", "array")


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("Memcpy HtoD (Pinned -> Device)", None, ("HtoD", "pinned", "device")),
        ("Memcpy DtoH (Device -> Pageable)", None, ("DtoH", "device", "pageable")),
        ("Memcpy HtoD (Host -> Device)", "HtoD", ("HtoD", None, "device")),
        ("Memcpy PtoP (Device -> Device)", None, ("PtoP", "device", "device")),
        (
            "Memcpy DtoD (Managed Static -> Array)",
            None,
            ("DtoD", "managed_static", "array"),
        ),
        ("CopyHostToDevice", None, ("HtoD", None, None)),
        ("hipMemcpyWithStream", "DtoH", ("DtoH", None, None)),
        ("Memcpy Unknown (Unknown -> Unknown)", None, (None, None, None)),
    ],
)
def test_kinds_of_copies(
    name: str,
    said: str | None,
    expected: tuple[str | None, str | None, str | None],
    tmp_path: Path,
) -> None:
    copy = kernel(1, cat="gpu_memcpy", name=name)
    copy["args"] |= {"bytes": 7} | ({"kind": said} if said else {})
    found = only_row(converted(tmp_path, text_of([copy])), "memcpy")
    names = ("copy_kind", "source_memory_kind", "destination_memory_kind")
    assert tuple(found[column] for column in names) == expected
    assert found["bytes"] == 7


def test_graph_kernels_share_a_launch(tmp_path: Path) -> None:
    events = [kernel(1), kernel(2)]
    for node, event in enumerate(events):
        event["args"] |= {"correlation": 9, "graph id": 3, "graph node id": node}
    run = converted(tmp_path, text_of([launch(9, name="cudaGraphLaunch"), *events]))
    found = [(r["correlation_id"], r["graph_id"]) for r in rows(run, "kernel")]
    assert found == [(9, 3), (9, 3)]
    answer = run_module(load_module("launches.trace"), [run]).table.to_pylist()
    assert len(answer) == 2


def test_python_functions_and_layers(tmp_path: Path) -> None:
    def call(number: int, name: str, parent: int | None) -> Event:
        return operator(
            number,
            cat="python_function",
            name=name,
            args={"Python id": number, "Python parent id": parent},
        )

    events = [call(1, "train.py(3): main", None), call(2, "nn.Module: Conv2d_0", 1)]
    run = converted(tmp_path, text_of([*events, kernel(1)]))
    found = [
        (row["python_id"], row["parent_python_id"], row["name"])
        for row in rows(run, "python_function")
    ]
    assert found == [
        (1, None, "train.py(3): main"),
        (2, 1, "nn.Module: Conv2d_0"),
    ]
    assert only_row(run, "module")["name"] == "Conv2d_0"


def test_other_accelerators_are_devices(tmp_path: Path) -> None:
    events = [
        launch(1, cat="mtia_runtime", name="mtiaLaunch"),
        kernel(1, cat="mtia_ccp_events", name="gemm", pid=3),
        launch(2, cat="xpu_driver", name="zeLaunch"),
    ]
    events[1]["args"] = {"device": 3, "stream": 1, "correlation": 1}
    run = converted(tmp_path, text_of(events))
    assert only_row(run, "kernel")["name"] == "gemm"
    assert [row["domain"] for row in rows(run, "api_call")] == ["runtime", "driver"]


def test_processes_threads_and_devices_have_their_names(tmp_path: Path) -> None:
    events = [
        kernel(1),
        launch(1),
        {
            "ph": "M",
            "name": "process_name",
            "pid": 42,
            "tid": 0,
            "ts": 0,
            "args": {"name": "python3"},
        },
        {
            "ph": "M",
            "name": "thread_name",
            "pid": 42,
            "tid": 43,
            "ts": 0,
            "args": {"name": "thread 43 (python3)"},
        },
    ]
    run = converted(tmp_path, text_of(events, host_name="machine-7"))
    process = only_row(run, "process")
    assert (process["os_pid"], process["name"]) == (42, "python3")
    thread = only_row(run, "thread")
    assert (thread["os_tid"], thread["name"]) == (43, "thread 43 (python3)")
    device = only_row(run, "device")
    assert (device["name"], device["sm_count"], device["host"]) == (
        "GPU",
        132,
        "machine-7",
    )
    assert run.manifest.ranks[0].hosts == ["machine-7"]


def test_names_that_were_not_demangled(tmp_path: Path) -> None:
    run = converted(tmp_path, text_of([kernel(1, name="_Z3addIfEvPT_")]))
    found = only_row(run, "kernel")
    assert found["mangled_name"] == found["name"] == "_Z3addIfEvPT_"
    assert found["canonical_name"] == "void add<float>(float*)"
    assert found["short_name"] == "add"


def test_metadata_of_the_user_stays_behind(tmp_path: Path) -> None:
    content = text_of(
        [kernel(1)],
        record_shapes=1,
        trace_id="AB12",
        cupti_version=28,
        api_token="EXAMPLE-NOT-A-SECRET",
        distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8},
        WARNING=["lost 3 records"],
    )
    run = converted(tmp_path, content)
    facts = {row["key"]: row["value"] for row in rows(run, "run_fact")}
    assert facts["trace_id"] == "AB12"
    assert (facts["backend"], facts["world_size"]) == ("nccl", "8")
    assert run.manifest.settings == {"record_shapes": "1"}
    assert run.ranks == (3,)
    assert run.manifest.ranks[0].source == "profiler"
    messages = [(r["severity"], r["text"]) for r in rows(run, "diagnostic")]
    assert ("warning", "lost 3 records") in messages
    assert notes(run, "left_behind") == {"metadata: keys that are not on the list": 1}
    for file in run.path.rglob("*"):
        if file.is_file():
            assert b"EXAMPLE-NOT-A-SECRET" not in file.read_bytes()


@pytest.mark.parametrize(
    ("name", "rank"),
    [("rank-5.json", 5), ("my_rank12_a.json", 12), ("worker4.json", 3)],
)
def test_the_file_name_says_the_rank_first(
    name: str, rank: int, tmp_path: Path
) -> None:
    content = text_of([kernel(1)], distributedInfo={"rank": 3})
    assert converted(tmp_path, content, name).ranks == (rank,)


def test_only_wanted_tables_are_made(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text_of([operator(1), launch(1), kernel(1), memory(1, 512)]))
    request = Request(tables=frozenset({"kernel"}))
    run = convert([path], tmp_path / "run", request)
    assert run.manifest.rows("kernel") == 1
    for table in ("operator", "api_call", "memory_event", "flow"):
        assert not run.manifest.rows(table)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_traces(suffix: str, tmp_path: Path) -> None:
    content = text_of([kernel(1)]).encode()
    path = tmp_path / f"trace.json{suffix}"
    if suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    else:
        with (
            pa.OSFile(str(path), "wb") as raw,
            pa.CompressedOutputStream(raw, "zstd") as file,
        ):
            file.write(content)
    assert convert([path], tmp_path / "run").manifest.rows("kernel") == 1


def test_the_documentation_names_columns_that_are_filled(tmp_path: Path) -> None:
    for table, columns in kineto_sources().items():
        assert columns.keys() <= TABLES[table].column_names, table
    run = converted(tmp_path, text_of([kernel(1), launch(1), operator(1)]))
    for table in ("kernel", "api_call", "operator"):
        found = only_row(run, table)
        filled = {name for name, value in found.items() if value is not None}
        assert filled - {"rank"} == filled & kineto_sources()[table].keys()


def test_a_step_that_never_ended_is_none(tmp_path: Path) -> None:
    step = {"ph": "X", "cat": "user_annotation", "pid": 42, "tid": 43, "dur": 100}
    events: list[Event | str] = [
        {**step, "name": "ProfilerStep#4", "ts": 1, "args": {"finished": True}},
        {**step, "name": "ProfilerStep#5", "ts": 101, "args": {}},
        {**step, "name": "ProfilerStep#6", "ts": 201, "args": {"finished": False}},
        kernel(1),
    ]
    run = converted(tmp_path, text_of(events))
    assert [row["step_index"] for row in rows(run, "step")] == [4, 5]
    assert len(rows(run, "annotation")) == 3


def test_counters(tmp_path: Path) -> None:
    counter = {"ph": "C", "name": "Queue Length", "pid": 0, "tid": 0, "ts": 12.001}
    events = [
        launch(1),
        kernel(1),
        {**counter, "args": {"stream 7": 3}},
        {
            **counter,
            "cat": "hardware_counters",
            "name": "SM",
            "pid": "GPU 1 Counters",
            "args": {"active": "0.5", "issued": 2, "note": "n/a", "on": True},
        },
        {**counter, "pid": 42, "args": {}},
    ]
    run = converted(tmp_path, text_of(events))
    names = {row["device_id"]: row for row in rows(run, "device", HOST_RANK)}
    assert len(names) == 2
    found = rows(run, "counter_sample", HOST_RANK)
    assert [
        (r["metric"], r["value"], r["instance"], r["device_id"], r["time_ns"])
        for r in found
    ] == [
        ("Queue Length", 3.0, None, 0, 12_001),
        ("SM: active", 0.5, "hardware_counters", 1, 12_001),
        ("SM: issued", 2.0, "hardware_counters", 1, 12_001),
    ]
    assert notes(run, "skipped") == {"counter: its value is no number": 3}


def test_marks_of_the_profiler_itself_are_counted(tmp_path: Path) -> None:
    mark = {"ph": "i", "s": "g", "pid": "", "tid": "", "ts": 1}
    events = [kernel(1), {**mark, "name": "Record Window End"}]
    run = converted(tmp_path, text_of(events))
    assert notes(run, "skipped") == {
        "instant: where the profiler's own window begins, ends": 1
    }
    assert run.manifest.rows("annotation") == 0
