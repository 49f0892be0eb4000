"""Where each column of the normalized tables comes from in a trace.

For the documentation: `args.X` is the field X of the `args` of an event.
"""

from collections.abc import Mapping

_INTERVAL = {"start_ns": "ts", "end_ns": "ts + dur"}
_HOST = {"process_id": "pid", "thread_id": "pid, tid"}
_ON_STREAM = {
    "process_id": "the profiled process",
    "device_id": "args.device, else pid",
    "stream_id": "args.stream, else tid",
    "correlation_id": "args.correlation",
}
_GPU = {**_ON_STREAM, "context_id": "args.context"}
_GRAPH = {"graph_id": "args.graph id", "graph_node_id": "args.graph node id"}
_DEVICE = {
    "name": "name",
    "compute_capability": "computeMajor, computeMinor",
    "sm_count": "numSms",
    "memory_bytes": "totalGlobalMem",
    "warp_size": "warpSize",
    "max_warps_per_sm": "maxThreadsPerMultiprocessor / warpSize",
    "max_threads_per_block": "maxThreadsPerBlock",
    "registers_per_sm": "regsPerMultiprocessor",
    "shared_bytes_per_sm": "sharedMemPerMultiprocessor",
}

_SOURCES: Mapping[str, Mapping[str, str]] = {
    "device": {
        "device_id": "ordinals, numbered as met",
        "host": "host_name",
        **{name: f"deviceProperties: {field}" for name, field in _DEVICE.items()},
    },
    "process": {
        "process_id": "numbered as met",
        "os_pid": "pid",
        "host": "host_name",
        "name": "M process_name: args.name",
    },
    "thread": {
        "thread_id": "numbered as met",
        "process_id": "pid",
        "os_tid": "tid",
        "name": "M thread_name: args.name",
    },
    "context": {
        "process_id": "the profiled process",
        "context_id": "args.context",
        "device_id": "args.device",
        "cuda_ordinal": "args.device",
    },
    "stream": {
        "process_id": "the profiled process",
        "context_id": "args.context",
        "stream_id": "args.stream",
    },
    "kernel": {
        "kernel_id": "numbered by start",
        **_GPU,
        **_GRAPH,
        **_INTERVAL,
        "name": "name",
        "mangled_name": "name, where it is a symbol",
        "canonical_name": "name",
        "short_name": "name",
        "grid_x": "args.grid",
        "grid_y": "args.grid",
        "grid_z": "args.grid",
        "block_x": "args.block",
        "block_y": "args.block",
        "block_z": "args.block",
        "registers_per_thread": "args.registers per thread",
        "shared_bytes": "args.shared memory",
        "static_shared_bytes": "args.shared memory, where it is 0",
        "dynamic_shared_bytes": "args.shared memory, where it is 0",
    },
    "memcpy": {
        **_GPU,
        **_GRAPH,
        **_INTERVAL,
        "bytes": "args.bytes",
        "copy_kind": "name, else args.kind",
        "source_memory_kind": "name",
        "destination_memory_kind": "name",
        "source_device_id": "args.fromDevice",
        "destination_device_id": "args.toDevice",
    },
    "memset": {
        **_GPU,
        **_GRAPH,
        **_INTERVAL,
        "bytes": "args.bytes",
        "memory_kind": "name",
    },
    "api_call": {
        **_HOST,
        **_INTERVAL,
        "domain": "cat",
        "name": "name",
        "correlation_id": "args.correlation",
    },
    "sync": {
        **_GPU,
        **_INTERVAL,
        "kind": "args.cuda_sync_kind, else name",
        "event_id": "args.wait_on_cuda_event_id",
    },
    "cuda_event": {**_GPU, "event_id": "args.event_id", "time_ns": "ts"},
    "annotation": {
        "annotation_id": "numbered by start",
        **_HOST,
        **_INTERVAL,
        "kind": "cat, ph",
        "category": "cat gpu_user_annotation",
        "text": "name",
    },
    "operator": {
        "operator_id": "numbered by start",
        **_HOST,
        **_INTERVAL,
        "name": "name",
        "input_shapes": "args.Input Dims (2020: Input dims)",
        "input_types": "args.Input type",
        "input_strides": "args.Input Strides",
        "concrete_inputs": "args.Concrete Inputs",
        "sequence": "args.Sequence number",
        "record_function_id": "args.Record function id",
    },
    "flow": {
        "flow_id": "id",
        "kind": "cat",
        "process_id": "s: pid",
        "thread_id": "s: pid, tid",
        "start_ns": "s: ts",
        "end_process_id": "f: pid",
        "end_thread_id": "f: pid, tid",
        "end_ns": "f: ts",
    },
    "module": {**_HOST, **_INTERVAL, "name": "name of python_function nn.Module: X"},
    "python_function": {
        "python_id": "args.Python id",
        "parent_python_id": "args.Python parent id",
        **_HOST,
        **_INTERVAL,
        "name": "name",
    },
    "step": {
        **_INTERVAL,
        "step_index": "name ProfilerStep#N",
        "process_id": "pid",
        "name": "name",
        "source": "profiler",
    },
    "collective": {
        **_ON_STREAM,
        "thread_id": "pid, tid",
        **_INTERVAL,
        "communicator": "args.Process Group Name, else Process Group ID",
        "operation": "args.Collective name, else name of the kernel",
        "bytes": "larger of args.In, Out msg nelems x size of args.dtype",
        "data_type": "args.dtype",
        "reduction": "name of the kernel",
        "group_size": "args.Group size",
        "ranks": "args.Process Group Ranks",
        "sequence": "args.Seq",
        "source": "kernel, operator",
    },
    "memory_event": {
        **_HOST,
        "device_id": "args.Device Id",
        "time_ns": "ts",
        "kind": "sign of args.Bytes",
        "address": "args.Addr",
        "bytes": "args.Bytes",
        "allocator": "torch",
        "memory_kind": "args.Device Type",
        "total_allocated_bytes": "args.Total Allocated",
        "total_reserved_bytes": "args.Total Reserved",
        "memory_event_id": "numbered by time",
    },
    "counter_sample": {
        "source": "kineto",
        "instance": "C: cat",
        "device_id": "C: pid, as an ordinal or in `GPU 0 Counters`",
        "time_ns": "C: ts",
        "metric": "C: name; with several series name: key of args",
        "value": "C: args",
    },
    "overhead": {
        **_HOST,
        **_INTERVAL,
        "correlation_id": "args.correlation",
        "kind": "name",
    },
    "run_fact": {
        "key": "metadata, distributedInfo",
        "value": "metadata, distributedInfo",
        "source": "where it stands",
    },
    "diagnostic": {
        "severity": "INFO, WARNING, ERROR",
        "source": "profiler",
        "text": "a line of these lists",
    },
}


def kineto_sources() -> dict[str, dict[str, str]]:
    """Return the field that fills each column, by table and column."""
    return {table: dict(columns) for table, columns in _SOURCES.items()}
