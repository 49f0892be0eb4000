"""XPlane files made by hand, with numbers one can check."""

from pathlib import Path

import pytest

from tests.support.rows import rows
from tests.support.xspace import PlaneOf, Stats, environment, write_xspace
from tracekit.convert import convert
from tracekit.convert.xplane.details import copy_details, kernel_details
from tracekit.errors import UnreadableTraceError
from tracekit.store.run import Run

START = 1_700_000_000_000_000_000
CUPTI = (
    "regs:32 static_shared:1024 dynamic_shared:2048 grid:8,4,2 block:128,2,1 "
    "occ_pct:62.5"
)


def run_of(place: Path, *planes: PlaneOf) -> Run:
    return convert([write_xspace(place / "t.xplane.pb", *planes)], place / "run")


def gpu(timestamp_ns: int = 0) -> PlaneOf:
    plane = PlaneOf(
        "/device:GPU:0",
        {
            "clock_rate": 1_980_000,
            "core_count": 132,
            "memory_bandwidth": 4_800_000_000_000,
            "memory_size": 150_000_000_000,
            "compute_cap_major": 9,
            "compute_cap_minor": 0,
            "device_vendor": "Nvidia",
        },
    )
    plane.line("Stream #13(Compute,MemcpyH2D)", timestamp_ns, 13)
    return plane


def host(line: str = "python") -> PlaneOf:
    plane = PlaneOf("/host:CPU")
    plane.line(line, 0, 77)
    return plane


def test_start_and_end_are_each_rounded_down_from_absolute_ps(tmp_path: Path) -> None:
    plane = gpu(timestamp_ns=5)
    plane.event("touching", 0, 999, {"correlation_id": 1})
    plane.event("a", 1_999, 1, {"correlation_id": 2})
    plane.event("b", 2_000, 2_999, {"correlation_id": 3})
    # Rounding the length by itself would end this one at 13, not at 14.
    plane.event("c", 7_900, 1_200, {"correlation_id": 4})
    found = rows(run_of(tmp_path, plane), "kernel", "name", "start_ns", "end_ns")
    assert found == [("touching", 5, 5), ("a", 6, 7), ("b", 7, 9), ("c", 12, 14)]


def test_offsets_before_the_line_round_down_too(tmp_path: Path) -> None:
    plane = gpu(timestamp_ns=10)
    plane.event("early", -1, 2)
    assert rows(run_of(tmp_path, plane), "kernel", "start_ns", "end_ns") == [(9, 10)]


def test_kernel_details_of_cupti(tmp_path: Path) -> None:
    plane = gpu()
    plane.event(
        "_Z4gemmIfEvPT_",
        1_000,
        5_000,
        {
            "correlation_id": 42,
            "context_id": "$$1",
            "kernel_details": CUPTI,
            "tf_op": "model/dense/MatMul:MatMul",
            "hlo_op": "gemm.1",
            "hlo_module": "jit_step",
        },
    )
    run = run_of(tmp_path, plane)
    names = ["correlation_id", "context_id", "stream_id", "canonical_name"]
    assert rows(run, "kernel", *names) == [(42, 1, 13, "void gemm<float>(float*)")]
    assert rows(run, "kernel", "mangled_name", "short_name") == [
        ("_Z4gemmIfEvPT_", "gemm")
    ]
    sizes = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
    assert rows(run, "kernel", *sizes) == [(8, 4, 2, 128, 2, 1)]
    names = ["registers_per_thread", "static_shared_bytes", "dynamic_shared_bytes"]
    assert rows(run, "kernel", *names) == [(32, 1024, 2048)]
    names = ["shared_bytes", "occupancy_ratio", "operator_name", "hlo_op", "hlo_module"]
    assert rows(run, "kernel", *names) == [
        (None, 0.625, "model/dense/MatMul:MatMul", "gemm.1", "jit_step")
    ]
    assert rows(run, "context", "context_id", "device_id") == [(1, 0)]
    assert rows(run, "stream", "stream_id", "name") == [
        (13, "Stream #13(Compute,MemcpyH2D)")
    ]


def test_kernel_details_of_rocm() -> None:
    found = kernel_details(
        " grid:11,16,2 block:256,1,1 private_mem:128 group_mem:98304 occ_pct:0"
    )
    assert found == {
        "grid_x": 11,
        "grid_y": 16,
        "grid_z": 2,
        "block_x": 256,
        "block_y": 1,
        "block_z": 1,
        "local_bytes_per_thread": 128,
        "shared_bytes": 98304,
        "occupancy_ratio": None,
    }


@pytest.mark.parametrize(
    "text", ["", "grid:1,2", "regs:-1 grid:a,b,c", "occ_pct:nan", "regs:" + "9" * 5000]
)
def test_details_that_say_nothing_give_nothing(text: str) -> None:
    found = kernel_details(text)
    assert {value for value in found.values() if not isinstance(value, int)} == {None}
    assert "grid_x" not in found


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("MemcpyH2D", "kind_src:pageable kind_dst:device size:4", "HtoD"),
        ("MemcpyD2H", "kind_src:array kind_dst:pinned size:4", "AtoH"),
        ("MemcpyOther", "kind_src:device kind_dst:array size:4", "DtoA"),
        ("MemcpyP2P", "kind_src:device kind_dst:device size:4 dest:1", "PtoP"),
        ("MemcpyOther", "kind_src:unknown kind_dst:unknown size:4", None),
        ("copy", "kind:DtoH size:4", "DtoH"),
        ("CopyHostToDevice", "kind:Unknown size:4 dest:0 async:1", "HtoD"),
    ],
)
def test_direction_of_a_copy(name: str, text: str, kind: str | None) -> None:
    assert copy_details(name, text)["copy_kind"] == kind
    assert copy_details(name, text)["bytes"] == 4


def test_copies_fills_graphs_and_allocations_are_no_kernels(tmp_path: Path) -> None:
    plane, other = gpu(), PlaneOf("/device:GPU:1")
    copy = "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"
    peer = "kind_src:device kind_dst:device size:64 dest:1 async:1"
    plane.event("MemcpyH2D", 1_000, 1_000, {"memcpy_details": copy})
    plane.event("MemcpyP2P", 2_000, 1_000, {"memcpy_details": peer})
    fill = "kind:device num_bytes:256 async:1"
    plane.event("Memset", 3_000, 1_000, {"Memset_details": fill})
    plane.event("CudaGraph:7", 4_000, 1_000, {"cuda_graph_exec_id": 7})
    memory = {"memalloc_details": "kind:device num_bytes:512"}
    plane.event("MemoryAlloc", 5_000, 0, memory)
    plane.event("BUFFER_FLUSH", 6_000, 1_000)
    plane.event("UnifiedMemory", 7_000, 1_000)
    run = run_of(tmp_path, plane, other)
    assert run.manifest.rows("kernel") == 0
    names = ["bytes", "copy_kind", "source_memory_kind", "destination_device_id"]
    assert rows(run, "memcpy", *names) == [
        (4096, "HtoD", "pageable", None),
        (64, "PtoP", "device", 1),
    ]
    assert rows(run, "memset", "bytes", "memory_kind") == [(256, "device")]
    assert rows(run, "graph_launch", "graph_exec_id", "end_ns") == [(7, 5)]
    assert rows(run, "memory_event", "kind", "bytes") == [("allocate", 512)]
    assert rows(run, "overhead", "kind") == [("buffer_flush",)]
    assert [note.what for note in run.manifest.skipped] == ["UnifiedMemory events"]


def test_overhead_of_cupti_is_no_kernel(tmp_path: Path) -> None:
    plane = PlaneOf("/device:GPU:0")
    plane.line("CUPTI overhead", 0, 0xFFFFFFFF)
    plane.event("UNKNOWN", 1_000, 2_000)
    # A stream that has an event of overhead loses its name.
    plane.line("CUPTI overhead", 0, 21)
    plane.event("gemm", 5_000, 1_000, {"kernel_details": CUPTI})
    plane.event("BUFFER_FLUSH", 7_000, 1_000)
    run = run_of(tmp_path, plane)
    assert rows(run, "overhead", "kind", "start_ns", "end_ns") == [
        ("unknown", 1, 3),
        ("buffer_flush", 7, 8),
    ]
    assert rows(run, "kernel", "name", "stream_id") == [("gemm", 21)]
    assert rows(run, "stream", "stream_id") == [(21,)]


def test_counters_of_a_gpu_are_samples(tmp_path: Path) -> None:
    plane = gpu()
    plane.line("_counters_", 100, 5)
    plane.event("Power", 7_000, 0, {"power_mw": 250_000.0})
    plane.event("SM active", 8_000, 0, {"sm__cycles_active.avg": 5})
    run = run_of(tmp_path, plane)
    names = ["host", "source", "device_id", "time_ns", "metric", "value"]
    assert rows(run, "counter_sample", *names) == [
        ("node7", "gpu", 0, 107, "power_mw", 250_000.0),
        ("node7", "gpu", 0, 108, "sm__cycles_active.avg", 5.0),
    ]


def test_facts_and_losses_that_planes_tell(tmp_path: Path) -> None:
    plane = gpu()
    plane.stats = {
        "gpu_device_name": "NVIDIA H200",
        "cuda_runtime_version": 13000,
        "dropped_traces": "5 events",
    }
    run = run_of(tmp_path, plane)
    assert rows(run, "device", "name") == [("NVIDIA H200",)]
    assert rows(run, "run_fact", "key", "value") == [("cuda_runtime_version", "13000")]
    assert rows(run, "diagnostic", "severity", "text") == [
        ("warning", "/device:GPU:0: dropped 5 events")
    ]


def test_lines_derived_from_the_streams_are_not_counted_twice(tmp_path: Path) -> None:
    plane = gpu()
    plane.event("gemm", 0, 9_000, {"kernel_details": CUPTI})
    for derived in ("XLA Ops", "XLA Modules", "Steps", "Framework Ops"):
        plane.line(derived, 0, 99)
        plane.event("gemm", 0, 9_000)
    run = run_of(tmp_path, plane)
    assert run.manifest.rows("kernel") == 1
    assert sum(note.count for note in run.manifest.skipped) == 4


def test_device_properties_and_peak(tmp_path: Path) -> None:
    amd = PlaneOf("/device:GPU:1", {"device_vendor": "AMD", "compute_cap_major": 9})
    run = run_of(tmp_path, gpu(), amd)
    names = ["device_id", "host", "sm_count", "max_clock_hz", "compute_capability"]
    assert rows(run, "device", *names) == [
        (0, "node7", 132, 1_980_000_000, "9.0"),
        (1, "node7", None, None, None),
    ]
    # 2 x 128 lanes x 132 SMs x 1.98 GHz.
    assert rows(run, "device", "peak_fp32_flops")[0] == (66_908_160_000_000.0,)


def test_a_tpu_is_a_device_with_its_operations(tmp_path: Path) -> None:
    tpu = PlaneOf("/device:TPU:0", {"device_type_string": "TPU v4"})
    tpu.line("XLA Ops", 0, 3)
    tpu.event("fusion.1", 1_000, 2_000, {"hlo_op": "fusion.1"})
    tpu.line("Steps", 0, 1)
    tpu.event("0", 0, 9_000)
    run = run_of(tmp_path, tpu)
    assert rows(run, "device", "name") == [("TPU v4",)]
    assert rows(run, "kernel", "hlo_op", "start_ns", "end_ns") == [("fusion.1", 1, 3)]


def test_launches_are_joined_by_correlation(tmp_path: Path) -> None:
    plane, calls = gpu(), host()
    plane.event("gemm", 5_000, 1_000, {"correlation_id": 8, "kernel_details": CUPTI})
    calls.event("cuLaunchKernel", 1_000, 2_000, {"correlation_id": 8})
    calls.event("cudaMemcpyAsync_v3020", 4_000, 500, {"correlation_id": 9})
    calls.event("cuGraphLaunch (CudaGraph:3)", 6_000, 500)
    calls.event("cuDNN autotune", 7_000, 500)
    run = run_of(tmp_path, plane, calls)
    assert rows(run, "api_call", "domain", "name", "correlation_id") == [
        ("driver", "cuLaunchKernel", 8),
        ("runtime", "cudaMemcpyAsync", 9),
        ("driver", "cuGraphLaunch", None),
    ]
    assert rows(run, "annotation", "text") == [("cuDNN autotune",)]
    assert rows(run, "thread", "os_tid", "name") == [(77, "python")]


def test_operators_python_and_the_rest_of_a_thread(tmp_path: Path) -> None:
    plane = host()
    plane.event("model/conv1/Conv2D:_MklNativeConv2D", 1_000, 1_000)
    plane.event("$train.py:12 step", 2_000, 1_000)
    plane.event("Iterator::Batch", 3_000, 1_000)
    plane.event("NVTX:forward", 4_000, 1_000)
    plane.event("ThreadpoolListener::Record", 5_000, 0)
    plane.event("ThreadpoolListener::Region", 5_000, 1_000)
    run = run_of(tmp_path, plane)
    assert rows(run, "operator", "name", "scope") == [
        ("_MklNativeConv2D", "model/conv1/Conv2D")
    ]
    assert rows(run, "python_function", "name") == [("train.py:12 step",)]
    assert rows(run, "annotation", "text") == [
        ("Iterator::Batch",),
        ("forward",),
        ("ThreadpoolListener::Region",),
    ]
    assert [note.count for note in run.manifest.skipped] == [1]


def test_steps_carry_their_number_and_are_not_nested(tmp_path: Path) -> None:
    plane = host()
    for number in (7, 8):
        begin = number * 10_000
        plane.event("train", begin, 9_000, {"step_num": number, "_r": 1})
        plane.event("inner", begin, 2_000, {"step_num": number, "_r": 1})
        plane.event("no root", begin + 3_000, 2_000, {"step_num": number})
    run = run_of(tmp_path, plane)
    names = ["step_index", "name", "start_ns", "end_ns", "source"]
    assert rows(run, "step", *names) == [
        (7, "train", 70, 79, "annotation"),
        (8, "train", 80, 89, "annotation"),
    ]
    assert rows(run, "annotation", "payload")[0] == ('{"step_num": 7}',)


def test_a_payload_is_json_whatever_the_values(tmp_path: Path) -> None:
    plane = host()
    stats: Stats = {"nan": float("nan"), "inf": float("inf"), "text": 'a "b"', "_p": 1}
    plane.event("loss", 1_000, 1_000, stats)
    run = run_of(tmp_path, plane)
    assert rows(run, "annotation", "payload") == [('{"text": "a \\"b\\""}',)]


def test_memory_events(tmp_path: Path) -> None:
    plane = host()
    plane.event(
        "MemoryAllocation",
        1_999,
        0,
        {
            "allocator_name": "GPU_0_bfc",
            "bytes_allocated": 1024,
            "bytes_reserved": 0,
            "allocation_bytes": 512,
            "requested_bytes": 400,
            "addr": (1 << 63) + 5,
            "tf_op": "conv1/BiasAdd",
            "region_type": "output",
            "data_type": 19,
            "shape": "[8,32, 32,8]",
        },
    )
    plane.event("MemoryDeallocation", 3_000, 0, {"shape": "[?,8]", "data_type": 0})
    run = run_of(tmp_path, gpu(), plane)
    names = ["time_ns", "kind", "device_id", "address", "bytes", "requested_bytes"]
    assert rows(run, "memory_event", *names) == [
        (1, "allocate", 0, -(1 << 63) + 5, 512, 400),
        (3, "free", None, None, None, None),
    ]
    names = ["tag", "region", "data_type", "shape", "total_allocated_bytes"]
    assert rows(run, "memory_event", *names) == [
        ("conv1/BiasAdd", "output", "float16", "[8,32,32,8]", 1024),
        (None, None, None, None, None),
    ]


def test_producers_and_consumers_are_linked(tmp_path: Path) -> None:
    plane = host()
    plane.event("FunctionRun", 1_000, 1_000, {"_pt": 2, "_p": (1 << 64) - 1})
    plane.line("tf_Compute/1", 0, 78)
    plane.event("ExecutorState::Process", 5_000, 1_000, {"_ct": 2, "_c": (1 << 64) - 1})
    plane.event("alone", 6_000, 1_000, {"_ct": 3, "_c": 1})
    run = run_of(tmp_path, plane)
    names = ["flow_id", "thread_id", "start_ns", "end_thread_id", "end_ns"]
    assert rows(run, "flow", *names) == [(-1, 0, 1, 1, 5)]


def test_times_count_from_the_start_of_the_profile(tmp_path: Path) -> None:
    plane = gpu(timestamp_ns=START + 100)
    plane.event("since 1970", 0, 1_000)
    plane.line("Stream #14(Compute)", 200, 14)
    plane.event("since the start", 0, 1_000)
    run = run_of(tmp_path, plane, environment(START))
    assert rows(run, "kernel", "name", "start_ns") == [
        ("since 1970", 100),
        ("since the start", 200),
    ]
    assert run.manifest.ranks[0].origin_utc_ns == START
    assert run.run_id.startswith("20231114t221320z-")


def test_times_since_1970_without_a_recorded_start(tmp_path: Path) -> None:
    plane = gpu(timestamp_ns=START)
    plane.event("gemm", 0, 1_000)
    run = run_of(tmp_path, plane)
    assert rows(run, "kernel", "start_ns") == [(START,)]
    assert run.manifest.ranks[0].origin_utc_ns == 0


def test_times_without_any_origin(tmp_path: Path) -> None:
    plane = gpu(timestamp_ns=9)
    plane.event("gemm", 0, 1_000)
    assert run_of(tmp_path, plane).manifest.ranks[0].origin_utc_ns is None


def test_messages_of_the_profiler(tmp_path: Path) -> None:
    from tracekit.convert.xplane.xspace_pb2 import XSpace

    space = XSpace(planes=[gpu().packed()], errors=[b"dropped 5 events"])
    path = tmp_path / "t.xplane.pb"
    path.write_bytes(space.SerializeToString())
    run = convert([path], tmp_path / "run")
    assert rows(run, "diagnostic", "severity", "source", "text") == [
        ("error", "profiler", "dropped 5 events")
    ]


def test_hosts_of_a_profile_folder_are_ranks(tmp_path: Path) -> None:
    folder = tmp_path / "log" / "plugins" / "profile" / "2026_12_01"
    for number, name in enumerate(["a", "b"]):
        plane = gpu()
        plane.event(f"gemm{number}", 1_000, 1_000)
        write_xspace(folder / f"{name}.xplane.pb", plane, environment(START), host=name)
    run = convert([tmp_path / "log"], tmp_path / "run")
    assert run.ranks == (0, 1)
    assert rows(run, "device", "device_id", "host") == [(0, "a"), (1, "b")]
    names = ["name", "process_id", "device_id"]
    assert rows(run, "kernel", *names) == [("gemm0", 0, 0), ("gemm1", 1, 1)]
    assert [rank.hosts for rank in run.manifest.ranks] == [["a"], ["b"]]


def test_ranks_in_the_names_of_a_folder(tmp_path: Path) -> None:
    for number in (3, 1):
        write_xspace(tmp_path / "p" / f"rank-{number}.xplane.pb", gpu())
    run = convert([tmp_path / "p"], tmp_path / "run")
    assert run.ranks == (1, 3)


def test_two_profiles_in_one_folder_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_xspace(tmp_path / "log" / name / "h.xplane.pb", gpu())
    with pytest.raises(UnreadableTraceError, match="2 profiles: one, two"):
        convert([tmp_path / "log"], tmp_path / "run")
