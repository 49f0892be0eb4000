"""rocprofv3's JSON, whole and spoiled."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.rows import rows_of_run
from tracekit.convert import convert
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import Run

SYMBOL = "_Z6vecAddPfi"
FULL = "vecAdd(float*, int)"
KINDS = [
    {"kind": "NONE", "operations": []},
    {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", "hipLaunchKernel"]},
    {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]},
    {"kind": "MEMORY_COPY", "operations": ["", "MEMORY_COPY_DEVICE_TO_HOST"]},
    {"kind": "MEMORY_ALLOCATION", "operations": ["MEMORY_ALLOCATION_ALLOCATE"]},
]


def span(start: int, end: int, **more: object) -> dict[str, Any]:
    return {
        "start_timestamp": start,
        "end_timestamp": end,
        "thread_id": 77,
        "correlation_id": {"internal": 9, "external": 0},
        **more,
    }


def dispatch(start: int, end: int, kernel_id: int = 1) -> dict[str, Any]:
    info = {
        "agent_id": {"handle": 500},
        "kernel_id": kernel_id,
        "group_segment_size": 64,
        "workgroup_size": {"x": 64, "y": 1, "z": 1},
        "grid_size": {"x": 130, "y": 1, "z": 1},
    }
    return span(start, end, dispatch_info=info, stream_id={"handle": 2})


def tool() -> dict[str, Any]:
    return {
        "metadata": {
            "pid": 42,
            "command": ["/usr/bin/python", "a.py"],
            "node": {"hostname": "node7"},
        },
        "agents": [
            {"id": {"handle": 400}, "type": 1, "name": "cpu"},
            {
                "id": {"handle": 500},
                "type": 2,
                "name": "gfx950",
                "product_name": "AMD Instinct MI350X",
                "cu_count": 256,
                "lds_size_in_kb": 160,
                "mem_banks": [{"size_in_bytes": 309_220_868_096}],
                "uuid": {"bytes": {f"value{n}": n + 1 for n in range(16)}},
            },
        ],
        "counters": [{"id": {"handle": 3}, "name": "SQ_WAVES"}],
        "strings": {
            "buffer_records": KINDS,
            "marker_api": [{"key": 9, "value": "step 1"}],
        },
        "kernel_symbols": [
            {
                "kernel_id": 1,
                "kernel_name": f"{SYMBOL}.kd",
                "formatted_kernel_name": FULL,
                "arch_vgpr_count": 28,
            }
        ],
        "buffer_records": {
            "kernel_dispatch": [dispatch(100, 200), dispatch(150, 300, 99)],
            "hip_api": [span(10, 20, kind=1, operation=1)],
            "marker_api": [span(5, 50, kind=2, operation=0)],
            "memory_copy": [
                span(
                    310,
                    350,
                    kind=3,
                    operation=1,
                    src_agent_id={"handle": 500},
                    dst_agent_id={"handle": 400},
                    bytes=4096,
                )
            ],
            "memory_allocation": [
                span(
                    1,
                    2,
                    kind=4,
                    agent_id={"handle": 500},
                    address="0xffffffff00000000",
                    allocation_size=512,
                )
            ],
            "scratch_memory": [span(1, 2)],
        },
        "callback_records": {
            "counter_collection": [
                {
                    "dispatch_data": dispatch(100, 200),
                    "records": [{"counter_id": {"handle": 3}, "value": 32.0}],
                }
            ]
        },
    }


def run_of(folder: Path, *tools: dict[str, Any]) -> Run:
    path = folder / "1_results.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": list(tools)}))
    return convert([path], folder / "run")


def test_kernels(tmp_path: Path) -> None:
    run = run_of(tmp_path, tool())
    assert run.manifest.source.format == "rocprofv3-json"
    assert run.manifest.source.tools == {"rocprofv3": "(experimental reader)"}
    first, second = rows_of_run(run, "kernel")
    assert (first["name"], first["mangled_name"]) == (FULL, SYMBOL)
    assert (first["canonical_name"], first["short_name"]) == (FULL, "vecAdd")
    # 130 threads are three blocks of 64.
    assert (first["grid_x"], first["block_x"]) == (3, 64)
    assert (first["shared_bytes"], first["registers_per_thread"]) == (64, 28)
    assert (first["stream_id"], first["correlation_id"]) == (2, 9)
    # A kernel without a symbol has no name, and is a kernel.
    assert (second["name"], second["end_ns"]) == (None, 300)


def test_the_rest(tmp_path: Path) -> None:
    run = run_of(tmp_path, tool())
    (call,) = rows_of_run(run, "api_call")
    assert (call["domain"], call["name"]) == ("runtime", "hipLaunchKernel")
    (marker,) = rows_of_run(run, "annotation")
    assert (marker["text"], marker["end_ns"]) == ("step 1", 50)
    (copy,) = rows_of_run(run, "memcpy")
    assert (copy["copy_kind"], copy["bytes"], copy["device_id"]) == ("DtoH", 4096, 0)
    (event,) = rows_of_run(run, "memory_event")
    assert event["address"] == 0xFFFFFFFF00000000 - 2**64
    assert event["bytes"] == 512
    (device,) = rows_of_run(run, "device")
    assert (device["name"], device["sm_count"]) == ("AMD Instinct MI350X", 256)
    assert device["memory_bytes"] == 309_220_868_096
    assert device["shared_bytes_per_sm"] == 163_840
    assert device["uuid"] == "01020304-0506-0708-090a-0b0c0d0e0f10"
    assert [n.what for n in run.manifest.skipped] == ["scratch_memory"]


def test_counters_belong_to_their_kernel(tmp_path: Path) -> None:
    run = run_of(tmp_path, tool())
    (row,) = rows_of_run(run, "kernel_metric")
    assert (row["kernel_id"], row["metric"], row["value"]) == (0, "SQ_WAVES", 32.0)


def test_counters_alone_are_kernels_too(tmp_path: Path) -> None:
    only = tool()
    del only["buffer_records"]["kernel_dispatch"]
    run = run_of(tmp_path, only)
    (kernel,) = rows_of_run(run, "kernel")
    assert (kernel["name"], kernel["start_ns"]) == (FULL, 100)


def test_two_processes(tmp_path: Path) -> None:
    run = run_of(tmp_path, tool(), tool())
    assert [k["process_id"] for k in rows_of_run(run, "kernel")] == [0, 1, 0, 1]
    assert run.manifest.rows("device") == 1
    assert sorted(t["thread_id"] for t in rows_of_run(run, "thread")) == [0, 1]


@pytest.mark.parametrize(
    "spoil",
    [
        {"start_timestamp": "100", "end_timestamp": "200"},
        {"correlation_id": {"internal": 2**64 - 1}},
        {"stream_id": None, "kind": 10**9, "operation": -5},
        {"thread_id": 2**63},
    ],
)
def test_odd_numbers_keep_the_record(spoil: dict[str, Any], tmp_path: Path) -> None:
    odd = tool()
    odd["buffer_records"]["kernel_dispatch"][0] |= spoil
    run = run_of(tmp_path, odd)
    assert [k["start_ns"] for k in rows_of_run(run, "kernel")] == [100, 150]


@pytest.mark.parametrize(
    "spoil",
    [
        {"start_timestamp": "n/a"},
        {"end_timestamp": None},
        {"dispatch_info": None},
        {"dispatch_info": {"agent_id": 5}},
        {"start_timestamp": 1.5},
    ],
)
def test_a_bad_record_costs_itself(spoil: dict[str, Any], tmp_path: Path) -> None:
    bad = tool()
    bad["buffer_records"]["kernel_dispatch"][0] |= spoil
    run = run_of(tmp_path, bad)
    assert [k["start_ns"] for k in rows_of_run(run, "kernel")] == [150]
    skipped = {n.what: n.count for n in run.manifest.skipped}
    assert skipped["kernel"] == 1


def test_empty_and_without_records(tmp_path: Path) -> None:
    run = run_of(tmp_path, {})
    assert run.manifest.rows("kernel") == 0
    assert "--kernel-trace" in run.manifest.absent["kernel"]


def test_a_file_cut_anywhere_is_refused_in_one_line(tmp_path: Path) -> None:
    text = json.dumps({"rocprofiler-sdk-tool": [tool()]})
    path = tmp_path / "cut.json"
    for end in range(30, len(text) - 1, 97):
        path.write_text(text[:end])
        with pytest.raises(UnreadableTraceError, match="cut short") as caught:
            convert([path], tmp_path / "run")
        assert "\n" not in str(caught.value)


def test_deep_nesting_and_bad_bytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    for tail in (b"[" * 20_000, b'[{"metadata": "\xff"}]}', b"NaN}", b"5}"):
        path.write_bytes(b'{"rocprofiler-sdk-tool": ' + tail)
        with pytest.raises(UnreadableTraceError) as caught:
            convert([path], tmp_path / "run")
        assert "\n" not in str(caught.value)
