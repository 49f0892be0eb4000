"""By hand: the rows of the run that the export of `nsys_story` gives, by table.

Cells are those of the newest schema version; `nsys_history` says from which version
on there is the column that a field comes from.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Row = dict[str, Any]

_GPU = {"process_id": 0, "device_id": 0, "context_id": 1, "green_context_id": 3}
_MAIN = {"process_id": 0, "thread_id": 0}
_HELPER = {"process_id": 0, "thread_id": 1}

ANSWERS: Mapping[str, Sequence[Row]] = {
    "device": [
        {
            "device_id": 0,
            "host": "node7",
            "name": "Tesla V100",
            "uuid": "aaaaaaaa-0000-0000-0000-000000000001",
            "bus": "0000:07:00.0",
            "chip": "GV100",
            "compute_capability": "7.0",
            "sm_count": 80,
            "max_clock_hz": 1_530_000_000,
            "memory_bytes": 17_179_869_184,
            "memory_bandwidth": 898_048_000_000,
            "l2_cache_bytes": 6_291_456,
            # 2 FLOP x 64 lanes x 80 SMs x 1.53 GHz.
            "peak_fp32_flops": 15_667_200_000_000.0,
            "peak_fp32_derivation": "2 x 64 FP32 lanes per SM (compute capability 7.0)"
            " x 80 SMs x 1530000000 Hz",
        }
    ],
    "process": [{"process_id": 0, "os_pid": 4242, "host": "node7", "name": "python3"}],
    "thread": [
        {**_MAIN, "os_tid": 4242, "name": "python3"},
        {**_HELPER, "os_tid": 4250, "name": "loader"},
    ],
    "context": [
        {
            "process_id": 0,
            "context_id": 1,
            "device_id": 0,
            "cuda_ordinal": 0,
            "null_stream_id": 7,
            "is_green": False,
        }
    ],
    "stream": [
        {
            "process_id": 0,
            "context_id": 1,
            "stream_id": 7,
            "name": "main stream",
            "priority": -3,
            "kind": "non_blocking",
        }
    ],
    "kernel": [
        {
            "kernel_id": 0,
            **_GPU,
            "stream_id": 7,
            "correlation_id": 11,
            "graph_id": 9,
            "graph_node_id": 77,
            "start_ns": 1000,
            "end_ns": 1500,
            "name": "void scale<float>(float*, float)",
            "mangled_name": "_Z5scaleIfEvPT_S0_",
            "canonical_name": "void scale<float>(float*, float)",
            "short_name": "scale",
            "grid_x": 40,
            "grid_y": 2,
            "grid_z": 1,
            "block_x": 128,
            "block_y": 1,
            "block_z": 2,
            "cluster_x": 2,
            "cluster_y": 1,
            "cluster_z": 1,
            "registers_per_thread": 16,
            "static_shared_bytes": 48,
            "dynamic_shared_bytes": 1024,
            "executed_shared_bytes": 16384,
            "local_bytes_per_thread": 8,
            "local_bytes_total": 4096,
            "launch_type": "regular",
        }
    ],
    "memcpy": [
        {
            **_GPU,
            "stream_id": 7,
            "correlation_id": 10,
            "start_ns": 500,
            "end_ns": 900,
            "bytes": 4096,
            "copy_kind": "HtoD",
            "source_memory_kind": "pinned",
            "destination_memory_kind": "device",
            "source_device_id": 0,
            "destination_device_id": 0,
            "copy_count": 1,
        },
        {
            **_GPU,
            "stream_id": 0,
            "correlation_id": 0,
            "start_ns": 2000,
            "end_ns": 2100,
            "bytes": 65536,
            "copy_kind": "unified_HtoD",
            "source_memory_kind": "managed",
            "destination_memory_kind": "managed",
            "source_device_id": 0,
            "destination_device_id": 0,
            "migration_cause": "page_fault",
            "copy_count": 1,
        },
        {
            "process_id": 0,
            "device_id": 0,
            "context_id": 1,
            "stream_id": 7,
            "correlation_id": 15,
            "start_ns": 2200,
            "end_ns": 2300,
            "bytes": 100,
            "copy_kind": "decompress",
            "copy_count": 2,
        },
    ],
    "memset": [
        {
            **_GPU,
            "stream_id": 7,
            "correlation_id": 12,
            "start_ns": 920,
            "end_ns": 950,
            "bytes": 512,
            "value": 255,
            "memory_kind": "device",
        }
    ],
    "graph_launch": [
        {
            **_GPU,
            "stream_id": 7,
            "correlation_id": 13,
            "start_ns": 3000,
            "end_ns": 3400,
            "graph_id": 21,
            "graph_exec_id": 22,
        }
    ],
    "rejected": [
        {
            "table_name": "graph_launch",
            "reason": "the end is 0",
            "start_ns": 3500,
            "end_ns": 0,
        }
    ],
    "sync": [
        {
            **_GPU,
            "stream_id": 7,
            "correlation_id": 16,
            "start_ns": 1510,
            "end_ns": 1600,
            "kind": "stream",
        }
    ],
    "cuda_event": [
        {
            **_GPU,
            "stream_id": 7,
            "correlation_id": 17,
            "event_id": 2,
            "event_sync_id": 5,
            "time_ns": 1505,
        }
    ],
    "api_call": [
        {
            **_MAIN,
            "domain": "driver",
            "name": "cuMemcpyHtoDAsync_v2",
            "start_ns": 400,
            "end_ns": 450,
            "return_value": 0,
            "correlation_id": 10,
        },
        {
            **_MAIN,
            "domain": "runtime",
            "name": "cudaLaunchKernel",
            "start_ns": 940,
            "end_ns": 990,
            "return_value": 2,
            "correlation_id": 11,
            "call_stack_id": 4,
        },
    ],
    "library_call": [
        {
            **_MAIN,
            "library": "cudnn",
            "name": "cudnnConvolutionForward",
            "start_ns": 430,
            "end_ns": 470,
        },
        {
            **_MAIN,
            "library": "cublas",
            "name": "cublasSgemm_v2",
            "start_ns": 480,
            "end_ns": 490,
        },
        {
            **_MAIN,
            "library": "mpi",
            "name": "MPI_Allreduce",
            "start_ns": 1300,
            "end_ns": 1400,
            "bytes": 2048,
        },
    ],
    "annotation": [
        {"annotation_id": number, **_MAIN, **row}
        for number, row in enumerate(
            (
                {
                    "kind": "push_pop",
                    "text": "iteration 0",
                    "start_ns": 10,
                    "end_ns": 1700,
                },
                {
                    "kind": "push_pop",
                    "domain": "trainer",
                    "category": "phase",
                    "text": "registered",
                    "start_ns": 20,
                    "end_ns": 960,
                },
                {"kind": "mark", "text": "mark", "start_ns": 30, "payload": "7"},
                {
                    "end_thread_id": 1,
                    "kind": "start_end",
                    "text": "crossing",
                    "start_ns": 40,
                    "end_ns": 1200,
                },
                {
                    "kind": "push_pop",
                    "text": "open",
                    "start_ns": 1800,
                    "payload": "-3",
                },
                {
                    "kind": "push_pop",
                    "text": "real",
                    "start_ns": 1900,
                    "end_ns": 1910,
                    "payload": "1.5",
                },
            )
        )
    ],
    "memory_event": [
        {
            "memory_event_id": number,
            "process_id": 0,
            "device_id": 0,
            "context_id": 1,
            "stream_id": 7,
            "correlation_id": correlation,
            "time_ns": time,
            "kind": kind,
            "address": 139_637_976_727_552,
            "bytes": 4096,
            "allocator": "cuda",
            "memory_kind": "device",
        }
        for number, (time, kind, correlation) in enumerate(
            ((300, "allocate", 8), (1700, "free", 9))
        )
    ],
    "counter_sample": [
        {
            "host": "node7",
            "source": "gpu",
            "device_id": 0,
            "time_ns": 800,
            "metric": "GPC Clock Frequency",
            "unit": "Hz",
            "value": 1_530_000_000.0,
        },
        {
            "host": "node7",
            "source": "gpu",
            "device_id": 0,
            "time_ns": 800,
            "metric": "SMs Active",
            "unit": "%",
            "value": 55.0,
        },
        {
            "host": "node7",
            "source": "nic",
            "instance": "mlx5_0 port 1",
            "time_ns": 810,
            "metric": "IB: Bytes sent",
            "unit": "B/ms",
            "value": 12345.0,
        },
    ],
    "os_call": [
        {
            **_HELPER,
            "name": "pthread_cond_wait",
            "start_ns": 610,
            "end_ns": 690,
            "return_value": 0,
            "nesting_level": 0,
        }
    ],
    "cpu_slice": [
        {
            "host": "node7",
            "cpu": 3,
            **_HELPER,
            "start_ns": 100,
            "end_ns": 600,
            "end_state": "interruptible",
        },
        {"host": "node7", "cpu": 3, **_HELPER, "start_ns": 700},
    ],
    "cpu_sample": [{**_HELPER, "cpu": 3, "time_ns": 120, "call_stack_id": 3}],
    "call_stack": [
        {"call_stack_id": stack, "depth": depth, "symbol": "main", "module": "prog"}
        for stack, depth in ((3, 0), (3, 1), (4, 0))
    ],
    "overhead": [
        {
            **_MAIN,
            "kind": "CUDA profiling data flush",
            "start_ns": 60,
            "end_ns": 90,
        },
        {
            **_MAIN,
            "kind": "module loading by the runtime",
            "start_ns": 100,
            "end_ns": 150,
        },
        {
            **_MAIN,
            "correlation_id": 11,
            "kind": "JIT compilation of a kernel",
            "start_ns": 200,
            "end_ns": 260,
        },
    ],
    "diagnostic": [
        {
            "time_ns": 5,
            "severity": "warning",
            "source": "profiler",
            "text": "buffer was lost",
            "process_id": 0,
        }
    ],
    "clock": [{"host": "node7", "offset_ns": 0, "method": "recorded"}],
}
