"""Which tables and columns of an export are fit to share: a list of what is kept.

A table that is not listed is left out; of a listed one, a column that is not listed is
emptied. Numbers are kept where they are numbers; text is kept as its kind says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType

STRINGS = "StringIds"


class Text(Enum):
    """What a piece of text is, which says how much of it is kept.

    NAME keeps all but hosts, users and folders below a home folder. FILE keeps the
    last part of a path, MESSAGE shortens each path in it so and masks secrets. WORD, a
    symbol or a constant of the tool, is kept whole. UUID is replaced by a digest of
    itself, NUMBERS is a JSON object of which the numbers are kept, NAMED one of which
    the name is, PAYLOAD a binary payload of an annotation.
    """

    NAME = auto()
    FILE = auto()
    MESSAGE = auto()
    WORD = auto()
    UUID = auto()
    NUMBERS = auto()
    NAMED = auto()
    PAYLOAD = auto()


class Rows(Enum):
    """Which rows of a table are kept.

    OF_PROCESSES keeps those of processes that did something; the others are whatever
    else ran on the machine. The other kinds are tables of names and values, of which
    listed names are kept.
    """

    ALL = auto()
    NONE = auto()
    OF_PROCESSES = auto()
    CAPTURE = auto()
    EXPORT = auto()
    SYSTEM = auto()


_OWNERS = ("globalPid", "globalTid", "endGlobalTid")
PAIRS = (Rows.CAPTURE, Rows.EXPORT, Rows.SYSTEM)
"""The tables of names and values."""


@dataclass(frozen=True)
class Rule:
    """What is kept of a table.

    Attributes:
        numbers: Columns of numbers.
        strings: Columns of ids of StringIds, and what their text is.
        texts: Columns of text.
        rows: Which rows are kept.
        owners: Columns that name the process of an event.
    """

    numbers: frozenset[str] = frozenset()
    strings: Mapping[str, Text] = field(default_factory=dict)
    texts: Mapping[str, Text] = field(default_factory=dict)
    rows: Rows = Rows.ALL
    owners: tuple[str, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """All columns that are kept."""
        return self.numbers | self.strings.keys() | self.texts.keys()

    @property
    def owner(self) -> str:
        """The column that names the process of a row of OF_PROCESSES."""
        return next(name for name in _OWNERS if name in self.numbers)


def _listed(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _events(
    numbers: str, strings: Mapping[str, Text] | None = None, **texts: Text
) -> Rule:
    listed = _listed(numbers)
    return Rule(
        listed,
        strings or {},
        texts,
        owners=tuple(name for name in _OWNERS if name in listed),
    )


def _facts(numbers: str, rows: Rows = Rows.ALL, **texts: Text) -> Rule:
    return Rule(_listed(numbers), {}, texts, rows)


_FUNCTION = {"nameId": Text.NAME}
_CALL = "start end eventClass globalTid"
_GPU = (
    "start end deviceId contextId greenContextId streamId correlationId globalPid"
    " graphId graphNodeId"
)
_CHAIN = Rule(
    _listed(
        "id kernelMode thumbCode unresolved specialEntry originalIP unwindMethod"
        " stackDepth"
    ),
    {"symbol": Text.NAME, "module": Text.FILE},
)
_MPI = f"{_CALL} rank tag size communicator commHandle rootRank recvSize requestId"
_MEMORY_POOL = (
    " localMemoryPoolAddress localMemoryPoolReleaseThreshold localMemoryPoolSize"
    " localMemoryPoolUtilizedSize importedMemoryPoolAddress"
    " importedMemoryPoolProcessId"
)
_PAIRS = {"name": Text.WORD, "value": Text.WORD}

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "META_DATA_CAPTURE": _facts("", Rows.CAPTURE, **_PAIRS),
        "META_DATA_EXPORT": _facts("", Rows.EXPORT, **_PAIRS),
        "EXPORT_META_DATA": _facts("", Rows.EXPORT, **_PAIRS),
        "TARGET_INFO_SYSTEM_ENV": _facts("globalVid nameEnum", Rows.SYSTEM, **_PAIRS),
        # Whole files, and what the program printed.
        "ANALYSIS_FILE": Rule(rows=Rows.NONE),
        "ProcessStreams": Rule(rows=Rows.NONE),
        "PROCESSES": _facts("globalPid pid", Rows.OF_PROCESSES, name=Text.FILE),
        "ThreadNames": Rule(
            frozenset({"priority", "globalTid"}),
            {"nameId": Text.FILE},
            rows=Rows.OF_PROCESSES,
        ),
        "TARGET_INFO_SESSION_START_TIME": _facts(
            "utcEpochNs systemClockNs sessionStartCntVctNs"
        ),
        "ANALYSIS_DETAILS": _facts("globalVid duration startTime stopTime"),
        "TARGET_INFO_GPU": _facts(
            "vmId id isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate"
            " smCount pwGpuId cuDevice revision constantMemory maxIPC"
            " maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm"
            " maxRegistersPerSm threadsPerWarp asyncEngines maxWarpsPerSm"
            " maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ"
            " maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor"
            " smMinor numaNodeId",
            name=Text.WORD,
            busLocation=Text.WORD,
            chipName=Text.WORD,
            uuid=Text.UUID,
        ),
        "TARGET_INFO_CUDA_GPU": _facts(
            "deviceId clockRate smCount totalMemory memoryBandwidth l2CacheSize"
            " computeMajor computeMinor threadsPerWarp maxWarpsPerSm maxBlocksPerSm"
            " maxThreadsPerBlock maxRegistersPerSm maxShmemPerSm",
            name=Text.WORD,
            busLocation=Text.WORD,
            uuid=Text.UUID,
        ),
        "TARGET_INFO_CUDA_DEVICE": _facts(
            "gpuId cudaId pid numMultiprocessors", uuid=Text.UUID
        ),
        "TARGET_INFO_CUDA_CONTEXT_INFO": _facts(
            "nullStreamId hwId vmId processId deviceId contextId parentContextId"
            " isGreenContext numMultiprocessors"
        ),
        "TARGET_INFO_CUDA_NULL_STREAM": _facts(
            "streamId hwId vmId processId deviceId contextId"
        ),
        "TARGET_INFO_CUDA_STREAM": _facts(
            "streamId hwId vmId processId contextId priority flag"
        ),
        "TARGET_INFO_NVTX_CUDA_STREAM": _facts(
            "hwId vmId processId deviceId contextId streamId", name=Text.NAME
        ),
        "TARGET_INFO_GPU_METRICS": _facts(
            "typeId sourceId metricId", typeName=Text.WORD, metricName=Text.WORD
        ),
        "TARGET_INFO_NETWORK_METRICS": _facts(
            "metricsListId metricsIdx",
            name=Text.WORD,
            description=Text.WORD,
            unit=Text.WORD,
        ),
        "TARGET_INFO_NIC_INFO": _facts("nicId vendorId", name=Text.NAME),
        "NIC_ID_MAP": _facts("nicId globalId"),
        "DIAGNOSTIC_EVENT": _facts(
            "timestamp timestampType source severity globalPid", text=Text.MESSAGE
        ),
        "UnwindMethodType": _facts("number", name=Text.WORD),
        "CUPTI_ACTIVITY_KIND_KERNEL": _events(
            f"{_GPU} launchType cacheConfig registersPerThread gridX gridY gridZ blockX"
            " blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread"
            " localMemoryTotal gridId sharedMemoryExecuted sharedMemoryLimitConfig"
            " qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone clusterX clusterY"
            " clusterZ clusterSchedulingPolicy maxPotentialClusterSize"
            " maxActiveClusters sharedMemoryRequestedPercentage",
            dict.fromkeys(("demangledName", "shortName", "mangledName"), Text.WORD),
        ),
        "CUPTI_ACTIVITY_KIND_MEMCPY": _events(
            f"{_GPU} bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId"
            " srcContextId dstDeviceId dstContextId migrationCause virtualAddress"
            " copyCount"
        ),
        "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS": _events(
            f"{_GPU} eventClass ChannelID sourceBytes NumberOfOperations"
        ),
        "CUPTI_ACTIVITY_KIND_MEMSET": _events(f"{_GPU} value bytes memKind"),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": _events(f"{_GPU} graphExecId"),
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": _events(
            f"{_GPU} deprecatedSyncType syncType eventId eventSyncId"
        ),
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT": _events(
            f"{_GPU} timestamp eventId eventSyncId"
        ),
        "CUPTI_ACTIVITY_KIND_RUNTIME": _events(
            f"{_CALL} correlationId returnValue callchainId", {"nameId": Text.WORD}
        ),
        "CUPTI_ACTIVITY_KIND_OVERHEAD": _events(
            f"{_CALL} correlationId overheadType", _FUNCTION
        ),
        "CUPTI_ACTIVITY_KIND_JIT": _events(
            f"{_CALL} correlationId overheadType jitEntryType jitOperationType deviceId"
        ),
        "PROFILER_OVERHEAD": _events(f"{_CALL} returnValue overheadType", _FUNCTION),
        "CUDA_GRAPH_EVENTS": _events(
            f"{_CALL} graphId originalGraphId graphExecId graphNodeId"
            " originalGraphNodeId",
            _FUNCTION,
        ),
        "CUDA_GRAPH_NODE_EVENTS": _events(
            f"{_CALL} graphNodeId originalGraphNodeId", _FUNCTION
        ),
        "CUDA_GPU_MEMORY_USAGE_EVENTS": _events(
            "start globalPid deviceId contextId address pc bytes memKind"
            f" memoryOperationType correlationId streamId{_MEMORY_POOL}",
            name=Text.NAME,
        ),
        "CUDA_GPU_MEMORY_POOL_EVENTS": _events(
            "start globalPid deviceId address operationType poolType correlationId"
            f" minBytesToKeep{_MEMORY_POOL}"
        ),
        "CUDA_UM_CPU_PAGE_FAULT_EVENTS": _events(
            "start globalPid address originalFaultPc CpuInstruction unresolvedFaultPc"
        ),
        "CUDA_UM_GPU_PAGE_FAULT_EVENTS": _events(
            "start end globalPid deviceId address numberOfPageFaults faultAccessType"
        ),
        "NVTX_EVENTS": _events(
            "start end eventType rangeId category color globalTid endGlobalTid domainId"
            " uint64Value int64Value doubleValue uint32Value int32Value floatValue"
            " eventId",
            {"textId": Text.NAME, "jsonTextId": Text.NAME},
            text=Text.NAME,
            jsonText=Text.NAME,
            binaryData=Text.PAYLOAD,
        ),
        "NVTX_PAYLOAD_SCHEMAS": _facts(
            "domainId schemaId type flags numEntries payloadSize alignTo",
            name=Text.NAME,
        ),
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": _facts(
            "domainId schemaId idx flags type arrayOrUnionDetail offset",
            name=Text.NAME,
            description=Text.NAME,
        ),
        "NVTX_PAYLOAD_ENUMS": _facts(
            "domainId schemaId numEntries size", name=Text.NAME
        ),
        "NVTX_PAYLOAD_ENUM_ENTRIES": _facts(
            "domainId schemaId idx value isFlag", name=Text.NAME
        ),
        "OSRT_API": _events(f"{_CALL} returnValue nestingLevel callchainId", _FUNCTION),
        "CUDNN_EVENTS": _events(_CALL, _FUNCTION),
        "CUBLAS_EVENTS": _events(_CALL, _FUNCTION),
        "OSRT_CALLCHAINS": _CHAIN,
        "CUDA_CALLCHAINS": _CHAIN,
        "SAMPLING_CALLCHAINS": _CHAIN,
        "COMPOSITE_EVENTS": _events("id start cpu threadState globalTid cpuCycles"),
        "SCHED_EVENTS": _events(
            "start cpu isSchedIn globalTid threadState threadBlock"
        ),
        "MPI_RANKS": _facts("globalTid rank"),
        "MPI_P2P_EVENTS": _events(_MPI, {"textId": Text.NAME}),
        "MPI_COLLECTIVES_EVENTS": _events(_MPI, {"textId": Text.NAME}),
        "MPI_START_WAIT_EVENTS": _events(_MPI, {"textId": Text.NAME}),
        "MPI_OTHER_EVENTS": _events(_MPI, {"textId": Text.NAME}),
        "UCP_EVENTS": _events(f"{_CALL} size tag requestId", {"textId": Text.NAME}),
        "GPU_METRICS": _facts("rawTimestamp timestamp typeId metricId value"),
        "GENERIC_EVENTS": _facts(
            "genericEventId rawTimestamp timestamp typeId", data=Text.NUMBERS
        ),
        "GENERIC_EVENT_TYPES": Rule(_listed("typeId sourceId"), {"nameId": Text.WORD}),
        "GENERIC_EVENT_SOURCES": Rule(
            _listed("sourceId timeSourceId sourceGroupId"),
            {"nameId": Text.WORD},
            # Until 2022 it alone tells GPU metrics from what else was sampled.
            {"data": Text.NAMED},
        ),
        "NET_NIC_METRIC": _facts(
            "start end globalId portId metricsListId metricsIdx value"
        ),
    }
)
"""What is kept, by table; StringIds has no rule: what is referred to is kept."""

_ENUM = Rule(frozenset({"id"}), {}, {"name": Text.WORD, "label": Text.WORD})


def rule_for(table: str) -> Rule | None:
    """Return the rule of a table, or None for one that is left out.

    Some exports carry a version suffix, as `NVTX_EVENTS_V3`.
    """
    if table in RULES:
        return RULES[table]
    base, mark, version = table.rpartition("_V")
    if mark and version.isdigit() and base in RULES:
        return RULES[base]
    return _ENUM if table.startswith("ENUM_") else None
