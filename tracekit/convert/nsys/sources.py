"""Where each column of the normalized tables comes from in an nsys export.

For the documentation. Tables that are filled column by column say it themselves; the
others are described here.
"""

from collections import defaultdict
from collections.abc import Mapping

from tracekit.convert.nsys.tables import EVENT_TABLES

_NVTX = "NVTX_EVENTS"
_OTHERS: Mapping[str, Mapping[str, str]] = {
    "device": {
        "device_id": "order of TARGET_INFO_GPU; TARGET_INFO_CUDA_DEVICE maps ordinals",
        "host": "TARGET_INFO_SYSTEM_ENV Hostname",
        "name": "TARGET_INFO_GPU.name",
        "uuid": "TARGET_INFO_GPU.uuid",
        "bus": "TARGET_INFO_GPU.busLocation",
        "chip": "TARGET_INFO_GPU.chipName",
        "compute_capability": "TARGET_INFO_GPU.computeMajor, computeMinor",
        "sm_count": "TARGET_INFO_GPU.smCount",
        "max_clock_hz": "TARGET_INFO_GPU.clockRate (kHz in TARGET_INFO_CUDA_GPU)",
        "memory_bytes": "TARGET_INFO_GPU.totalMemory",
        "memory_bandwidth": "TARGET_INFO_GPU.memoryBandwidth",
        "l2_cache_bytes": "TARGET_INFO_GPU.l2CacheSize",
        "warp_size": "TARGET_INFO_GPU.threadsPerWarp",
        "max_warps_per_sm": "TARGET_INFO_GPU.maxWarpsPerSm",
        "max_blocks_per_sm": "TARGET_INFO_GPU.maxBlocksPerSm",
        "max_threads_per_block": "TARGET_INFO_GPU.maxThreadsPerBlock",
        "registers_per_sm": "TARGET_INFO_GPU.maxRegistersPerSm",
        "shared_bytes_per_sm": "TARGET_INFO_GPU.maxShmemPerSm",
        "peak_fp32_flops": "computed from compute capability, SMs and clock",
        "peak_fp32_derivation": "that computation",
    },
    "process": {
        "process_id": "numbered as met",
        "os_pid": "bits 24-47 of globalPid",
        "host": "TARGET_INFO_SYSTEM_ENV Hostname",
        "name": "PROCESSES.name",
    },
    "thread": {
        "thread_id": "numbered as met",
        "process_id": "bits 24 and up of globalTid",
        "os_tid": "bits 0-23 of globalTid",
        "name": "the name given through NVTX, or ThreadNames.nameId",
    },
    "context": {
        "process_id": "TARGET_INFO_CUDA_CONTEXT_INFO.processId",
        "context_id": "TARGET_INFO_CUDA_CONTEXT_INFO.contextId",
        "device_id": "TARGET_INFO_CUDA_CONTEXT_INFO.deviceId",
        "cuda_ordinal": "TARGET_INFO_CUDA_CONTEXT_INFO.deviceId",
        "null_stream_id": "TARGET_INFO_CUDA_CONTEXT_INFO.nullStreamId",
        "parent_context_id": "TARGET_INFO_CUDA_CONTEXT_INFO.parentContextId",
        "is_green": "TARGET_INFO_CUDA_CONTEXT_INFO.isGreenContext",
    },
    "stream": {
        "process_id": "TARGET_INFO_CUDA_STREAM.processId",
        "context_id": "TARGET_INFO_CUDA_STREAM.contextId",
        "stream_id": "TARGET_INFO_CUDA_STREAM.streamId",
        "name": "TARGET_INFO_NVTX_CUDA_STREAM.name",
        "priority": "TARGET_INFO_CUDA_STREAM.priority",
        "kind": "TARGET_INFO_CUDA_STREAM.flag",
    },
    "annotation": {
        "process_id": f"{_NVTX}.globalTid",
        "thread_id": f"{_NVTX}.globalTid",
        "end_thread_id": f"{_NVTX}.endGlobalTid",
        "kind": f"{_NVTX}.eventType",
        "domain": f"{_NVTX}.domainId, named by an event of type 75",
        "category": f"{_NVTX}.category, named by an event of type 33",
        "text": f"{_NVTX}.text, or StringIds of textId",
        "start_ns": f"{_NVTX}.start",
        "end_ns": f"{_NVTX}.end",
        "payload": f"{_NVTX}.jsonText, StringIds of jsonTextId, binaryData laid out by "
        "NVTX_PAYLOAD_SCHEMA_ENTRIES, or a value column",
    },
    "step": {
        "step_index": "the number in the text of a range",
        "process_id": f"{_NVTX}.globalTid",
        "name": "the text of a range: iteration 3, step_3, ProfilerStep#3",
        "start_ns": f"{_NVTX}.start",
        "end_ns": f"{_NVTX}.end",
        "source": "annotation or profiler, by that text",
    },
    "collective": {
        "process_id": f"{_NVTX}.globalTid of NCCL's ranges",
        "thread_id": f"{_NVTX}.globalTid",
        "communicator": "NCCL communicator ID of the payload",
        "operation": "the text of the range",
        "start_ns": f"{_NVTX}.start",
        "end_ns": f"{_NVTX}.end",
        "bytes": "Message size of the payload",
        "reduction": "Reduction operation of the payload",
        "group_size": "No. of ranks of the payload",
        "source": "annotation",
    },
    "counter_sample": {
        "host": "TARGET_INFO_SYSTEM_ENV Hostname",
        "source": "gpu or nic, by the table",
        "instance": "TARGET_INFO_NIC_INFO.name",
        "device_id": "low byte of GPU_METRICS.typeId",
        "time_ns": "GPU_METRICS.timestamp, GENERIC_EVENTS.timestamp",
        "metric": "TARGET_INFO_GPU_METRICS.metricName, or a key of GENERIC_EVENTS.data",
        "unit": "the bracket in metricName; clocks are in Hz whatever it says",
        "value": "GPU_METRICS.value",
    },
    "cpu_slice": {
        "host": "TARGET_INFO_SYSTEM_ENV Hostname",
        "cpu": "SCHED_EVENTS.cpu",
        "process_id": "SCHED_EVENTS.globalTid",
        "thread_id": "SCHED_EVENTS.globalTid",
        "start_ns": "SCHED_EVENTS.start of a switch in",
        "end_ns": "SCHED_EVENTS.start of the thread's next switch out",
        "end_state": "SCHED_EVENTS.threadState of that",
    },
    "cpu_sample": {
        "process_id": "COMPOSITE_EVENTS.globalTid",
        "thread_id": "COMPOSITE_EVENTS.globalTid",
        "cpu": "COMPOSITE_EVENTS.cpu",
        "time_ns": "COMPOSITE_EVENTS.start",
        "call_stack_id": "COMPOSITE_EVENTS.id",
    },
    "call_stack": {
        "call_stack_id": "id of SAMPLING_, CUDA_ and OSRT_CALLCHAINS",
        "depth": "stackDepth",
        "symbol": "symbol",
        "module": "module",
    },
    "diagnostic": {
        "time_ns": "DIAGNOSTIC_EVENT.timestamp",
        "severity": "DIAGNOSTIC_EVENT.severity",
        "source": "profiler, or converter for what tracekit says",
        "text": "DIAGNOSTIC_EVENT.text",
        "process_id": "DIAGNOSTIC_EVENT.globalPid",
    },
    "run_fact": {
        "key": "TARGET_INFO_SYSTEM_ENV.name; listed variables of META_DATA_CAPTURE",
        "value": "their values",
        "source": "the table",
    },
    "clock": {
        "host": "TARGET_INFO_SYSTEM_ENV Hostname",
        "offset_ns": "0: the recorded clock",
        "method": "recorded",
    },
    "rejected": {
        "table_name": "the table",
        "reason": "the check that failed",
        "start_ns": "start as recorded",
        "end_ns": "end as recorded",
        "name": "name as recorded",
    },
}


def nsys_sources() -> dict[str, dict[str, str]]:
    """Return, by table and column, the export's field that fills it."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for events in EVENT_TABLES:
        for column, field in events.fields.items():
            named = ", ".join([*field.uses, *field.needs]) or "given"
            found[events.target][column].append(f"{events.source}.{named}")
    sources = {
        table: {column: "; ".join(texts) for column, texts in columns.items()}
        for table, columns in found.items()
    }
    for table, columns in _OTHERS.items():
        sources.setdefault(table, {}).update(columns)
    for table, number in (
        ("kernel", "kernel_id"),
        ("annotation", "annotation_id"),
        ("memory_event", "memory_event_id"),
    ):
        sources[table][number] = "position in the sorted table"
    return sources
