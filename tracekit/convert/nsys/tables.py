"""Which export table and column fills which normalized one.

Differences between schema versions are data: a column that an export does not have
gives NULL, a table that it does not have gives no rows. Only the `required` columns
must be there. Enumerations stand here because exports before 3.0.0 carry none.
"""

from collections.abc import Mapping

from tracekit.convert.names import api_name
from tracekit.convert.nsys.fields import (
    CanonicalName,
    Constant,
    Device,
    DeviceOfContext,
    EventTable,
    Field,
    Keep,
    Name,
    Number,
    OneOf,
    Process,
    Stack,
    Thread,
)

NEWEST_KNOWN = (3, 30)

COPY_KINDS = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
    11: "unified_HtoD",
    12: "unified_DtoH",
    13: "unified_DtoD",
}
MEMORY_KINDS = {
    0: "pageable",
    1: "pinned",
    2: "device",
    3: "array",
    4: "managed",
    5: "device_static",
    6: "managed_static",
}
_MIGRATION_CAUSES = {
    1: "user_prefetch",
    2: "page_fault",
    3: "speculative_prefetch",
    4: "eviction",
    5: "access_counters",
}
# 67 spans a call together with the backtrace that was taken of it; the call has a row
# of its own, of the same correlation id.
_API_DOMAINS = {0: "runtime", 1: "driver", 13: "driver", 67: "backtrace"}
_SYNC_KINDS = {1: "event", 2: "stream_wait_event", 3: "stream", 4: "context"}
_LAUNCH_TYPES = {1: "regular", 2: "cooperative", 3: "cooperative_multi_device"}
_OVERHEADS = {
    2: "JIT compilation by the driver",
    3: "CUPTI buffer flush",
    4: "CUPTI instrumentation",
    5: "CUPTI resource creation",
    6: "module loading by the runtime",
    7: "lazy function loading",
    8: "command buffer full",
}
STREAM_KINDS = {1: "default", 2: "non_blocking", 3: "null"}

_INTERVAL = {"start_ns": Number("start"), "end_ns": Number("end")}
_TIMED = frozenset({"start", "end"})

_GPU_WORK: Mapping[str, Field] = {
    "process_id": Process("globalPid"),
    "device_id": Device("deviceId"),
    "context_id": Number("contextId"),
    "green_context_id": Number("greenContextId", unset=0),
    "stream_id": Number("streamId"),
    "correlation_id": Number("correlationId"),
}
_GPU_REQUIRED = _TIMED | {"deviceId", "contextId", "streamId"}
_GRAPH = {
    "graph_id": Number("graphId", unset=0),
    "graph_node_id": Number("graphNodeId", unset=0),
}
_THREAD: Mapping[str, Field] = {
    "process_id": Process("globalTid"),
    "thread_id": Thread("globalTid"),
}

EVENT_TABLES = (
    EventTable(
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "kernel",
        {
            **_GPU_WORK,
            **_GRAPH,
            **_INTERVAL,
            "name": Name("demangledName"),
            "mangled_name": Name("mangledName"),
            "canonical_name": CanonicalName("mangledName", "demangledName"),
            "short_name": Name("shortName"),
            "grid_x": Number("gridX"),
            "grid_y": Number("gridY"),
            "grid_z": Number("gridZ"),
            "block_x": Number("blockX"),
            "block_y": Number("blockY"),
            "block_z": Number("blockZ"),
            "cluster_x": Number("clusterX", unset=0),
            "cluster_y": Number("clusterY", unset=0),
            "cluster_z": Number("clusterZ", unset=0),
            "registers_per_thread": Number("registersPerThread"),
            "static_shared_bytes": Number("staticSharedMemory"),
            "dynamic_shared_bytes": Number("dynamicSharedMemory"),
            "executed_shared_bytes": Number("sharedMemoryExecuted"),
            "local_bytes_per_thread": Number("localMemoryPerThread"),
            "local_bytes_total": Number("localMemoryTotal"),
            "launch_type": OneOf("launchType", _LAUNCH_TYPES),
        },
        _GPU_REQUIRED | {"demangledName"},
    ),
    EventTable(
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "memcpy",
        {
            **_GPU_WORK,
            **_GRAPH,
            **_INTERVAL,
            "bytes": Number("bytes"),
            "copy_kind": OneOf("copyKind", COPY_KINDS),
            "source_memory_kind": OneOf("srcKind", MEMORY_KINDS),
            "destination_memory_kind": OneOf("dstKind", MEMORY_KINDS),
            "source_device_id": Device("srcDeviceId"),
            "destination_device_id": Device("dstDeviceId"),
            "migration_cause": OneOf("migrationCause", _MIGRATION_CAUSES),
            "copy_count": Number("copyCount"),
        },
        _GPU_REQUIRED | {"bytes", "copyKind"},
    ),
    EventTable(
        # Decompression by the copy engines keeps the GPU busy as a copy does.
        "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS",
        "memcpy",
        {
            **_GPU_WORK,
            **_INTERVAL,
            "bytes": Number("sourceBytes"),
            "copy_kind": Constant("decompress"),
            "copy_count": Number("NumberOfOperations"),
        },
        _GPU_REQUIRED,
    ),
    EventTable(
        "CUPTI_ACTIVITY_KIND_MEMSET",
        "memset",
        {
            **_GPU_WORK,
            **_GRAPH,
            **_INTERVAL,
            "bytes": Number("bytes"),
            "value": Number("value"),
            "memory_kind": OneOf("memKind", MEMORY_KINDS),
        },
        _GPU_REQUIRED | {"bytes"},
    ),
    EventTable(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        "graph_launch",
        {
            **_GPU_WORK,
            **_INTERVAL,
            "graph_id": Number("graphId"),
            "graph_exec_id": Number("graphExecId"),
        },
        _GPU_REQUIRED,
    ),
    EventTable(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "api_call",
        {
            **_THREAD,
            "domain": OneOf("eventClass", _API_DOMAINS),
            "name": Name("nameId", api_name),
            **_INTERVAL,
            "return_value": Number("returnValue"),
            "correlation_id": Number("correlationId"),
            "call_stack_id": Stack("callchainId", "CUDA_CALLCHAINS"),
        },
        _TIMED | {"nameId"},
        owner="globalTid",
        keep=Keep("eventClass", frozenset(_API_DOMAINS), "no call of the CUDA API"),
    ),
    EventTable(
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        "sync",
        {
            **_GPU_WORK,
            # CUPTI records no device here, and the export writes 0.
            "device_id": DeviceOfContext("contextId"),
            "stream_id": Number("streamId", unset=0xFFFFFFFF),
            **_INTERVAL,
            "kind": OneOf("syncType", _SYNC_KINDS),
            "event_id": Number("eventId", unset=0xFFFFFFFF),
            "event_sync_id": Number("eventSyncId", unset=0xFFFFFFFF),
        },
        _TIMED,
    ),
    EventTable(
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
        "cuda_event",
        {
            **_GPU_WORK,
            "device_id": DeviceOfContext("contextId"),
            "event_id": Number("eventId"),
            "event_sync_id": Number("eventSyncId"),
            # Written as 0 where the GPU's time was not asked for.
            "time_ns": Number("timestamp", unset=0),
        },
        frozenset({"eventId"}),
    ),
    EventTable(
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        "memory_event",
        {
            "process_id": Process("globalPid"),
            "device_id": Device("deviceId"),
            "context_id": Number("contextId"),
            "stream_id": Number("streamId"),
            "correlation_id": Number("correlationId"),
            "time_ns": Number("start"),
            "kind": OneOf("memoryOperationType", {0: "allocate", 1: "free"}),
            "address": Number("address"),
            "bytes": Number("bytes"),
            "allocator": Constant("cuda"),
            "memory_kind": OneOf("memKind", MEMORY_KINDS),
        },
        frozenset({"start", "address", "bytes", "memoryOperationType"}),
    ),
    EventTable(
        "OSRT_API",
        "os_call",
        {
            **_THREAD,
            "name": Name("nameId"),
            **_INTERVAL,
            "return_value": Number("returnValue"),
            "nesting_level": Number("nestingLevel"),
            "call_stack_id": Stack("callchainId", "OSRT_CALLCHAINS"),
        },
        _TIMED | {"nameId"},
        owner="globalTid",
        keep=Keep("eventClass", frozenset({27}), "a marker of the tracer, no call"),
    ),
    EventTable(
        "CUDNN_EVENTS",
        "library_call",
        {
            **_THREAD,
            "library": Constant("cudnn"),
            "name": Name("nameId"),
            **_INTERVAL,
        },
        _TIMED | {"nameId"},
        owner="globalTid",
    ),
    EventTable(
        "CUBLAS_EVENTS",
        "library_call",
        {
            **_THREAD,
            "library": Constant("cublas"),
            "name": Name("nameId"),
            **_INTERVAL,
        },
        _TIMED | {"nameId"},
        owner="globalTid",
    ),
    EventTable(
        "PROFILER_OVERHEAD",
        "overhead",
        {**_THREAD, "kind": Name("nameId"), **_INTERVAL},
        _TIMED | {"nameId"},
        owner="globalTid",
    ),
    EventTable(
        "CUPTI_ACTIVITY_KIND_OVERHEAD",
        "overhead",
        {
            **_THREAD,
            "correlation_id": Number("correlationId", unset=0),
            "kind": OneOf("overheadType", _OVERHEADS),
            **_INTERVAL,
        },
        _TIMED,
        owner="globalTid",
    ),
    EventTable(
        "CUPTI_ACTIVITY_KIND_JIT",
        "overhead",
        {
            **_THREAD,
            "correlation_id": Number("correlationId", unset=0),
            "kind": Constant("JIT compilation of a kernel"),
            **_INTERVAL,
        },
        _TIMED,
        owner="globalTid",
    ),
    *(
        EventTable(
            source,
            "library_call",
            {
                **_THREAD,
                "library": Constant(library),
                "name": Name("textId"),
                **_INTERVAL,
                "bytes": Number("size"),
            },
            _TIMED,
            owner="globalTid",
        )
        for source, library in (
            ("MPI_P2P_EVENTS", "mpi"),
            ("MPI_COLLECTIVES_EVENTS", "mpi"),
            ("MPI_START_WAIT_EVENTS", "mpi"),
            ("MPI_OTHER_EVENTS", "mpi"),
            ("UCP_EVENTS", "ucx"),
        )
    ),
)
