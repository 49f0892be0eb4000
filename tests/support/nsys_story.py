"""A made-up capture: its export's rows, and by hand the rows of the run.

Process 4242 with two threads on one GPU. Times are small, so that they can be checked
by eye. `SINCE` says from which schema version on a column is there to fill a field;
before it is NULL.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.nsys_counters import COUNTERS

Row = dict[str, Any]

_HOST = 1 << 48
PID = 4242
_PROCESS = _HOST | PID << 24
_MAIN, _HELPER = _PROCESS | 4242, _PROCESS | 4250

_STRINGS = (
    "",
    "void scale<float>(float*, float)",
    "scale",
    "_Z5scaleIfEvPT_S0_",
    "cudaLaunchKernel_v7000",
    "cuMemcpyHtoDAsync_v2",
    "registered",
    "python3",
    "loader",
    "pthread_cond_wait",
    "cudnnConvolutionForward",
    "cublasSgemm_v2",
    "MPI_Allreduce",
    "CUDA profiling data flush",
    "main",
    "prog",
    "SECRET=1",
    "backtrace",
)
_ID = {text: number for number, text in enumerate(_STRINGS)}


def _gpu(start: int, end: int, correlation: int | None, stream: int = 7) -> Row:
    return {
        "start": start,
        "end": end,
        "deviceId": 0,
        "contextId": 1,
        "greenContextId": 3,
        "streamId": stream,
        "correlationId": correlation,
        "globalPid": _PROCESS,
    }


def _call(start: int, end: int, event: int, tid: int = _MAIN) -> Row:
    return {"start": start, "end": end, "eventClass": event, "globalTid": tid}


def _nvtx(kind: int, start: int, end: int | None, **more: object) -> Row:
    return {
        "start": start,
        "end": end,
        "eventType": kind,
        "globalTid": _MAIN,
        "domainId": 0,
        **more,
    }


ROWS: Mapping[str, Sequence[Row]] = {
    **COUNTERS,
    "StringIds": [{"id": number, "value": text} for text, number in _ID.items()],
    "PROCESSES": [{"globalPid": _PROCESS, "pid": PID, "name": "python3"}],
    "ThreadNames": [
        {"nameId": _ID["python3"], "priority": 20, "globalTid": _MAIN},
        {"nameId": _ID["loader"], "priority": 20, "globalTid": _HELPER},
    ],
    "ProcessStreams": [
        {
            "globalPid": _PROCESS,
            "filenameId": _ID["prog"],
            "contentId": _ID["SECRET=1"],
        }
    ],
    "TARGET_INFO_SYSTEM_ENV": [
        {
            "globalVid": _HOST,
            "devStateName": "Host",
            "name": "Hostname",
            "nameEnum": 1,
            "value": "node7",
        }
    ],
    "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 1_600_000_000_000_000_000}],
    "TARGET_INFO_CUDA_GPU": [
        {
            "deviceId": 0,
            "name": "Tesla V100",
            "busLocation": "0000:07:00.0",
            "clockRate": 1_530_000,
            "smCount": 80,
            "totalMemory": 1 << 34,
            "memoryBandwidth": 898_048_000_000,
            "l2CacheSize": 6 << 20,
            "computeMajor": 7,
            "computeMinor": 0,
        }
    ],
    "TARGET_INFO_GPU": [
        {
            "vmId": _HOST,
            "id": 0,
            "name": "Tesla V100",
            "busLocation": "0000:07:00.0",
            "isDiscrete": 1,
            "l2CacheSize": 6 << 20,
            "totalMemory": 1 << 34,
            "memoryBandwidth": 898_048_000_000,
            "clockRate": 1_530_000_000,
            "smCount": 80,
            "uuid": "aaaaaaaa-0000-0000-0000-000000000001",
            "chipName": "GV100",
            "cuDevice": 0,
            "computeMajor": 7,
            "computeMinor": 0,
        }
    ],
    "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 0, "cudaId": 0, "pid": PID}],
    "TARGET_INFO_CUDA_NULL_STREAM": [
        {
            "streamId": 7,
            "hwId": 0,
            "vmId": 1,
            "processId": PID,
            "deviceId": 0,
            "contextId": 1,
        }
    ],
    "TARGET_INFO_CUDA_CONTEXT_INFO": [
        {
            "nullStreamId": 7,
            "hwId": 0,
            "vmId": 1,
            "processId": PID,
            "deviceId": 0,
            "contextId": 1,
            "isGreenContext": 0,
        }
    ],
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        {
            **_gpu(1000, 1500, 11),
            "demangledName": _ID["void scale<float>(float*, float)"],
            "shortName": _ID["scale"],
            "mangledName": _ID["_Z5scaleIfEvPT_S0_"],
            "launchType": 1,
            "cacheConfig": 0,
            "registersPerThread": 16,
            **dict(zip(("gridX", "gridY", "gridZ"), (40, 2, 1), strict=True)),
            **dict(zip(("blockX", "blockY", "blockZ"), (128, 1, 2), strict=True)),
            "staticSharedMemory": 48,
            "dynamicSharedMemory": 1024,
            "localMemoryPerThread": 8,
            "localMemoryTotal": 4096,
            "gridId": 5,
            "sharedMemoryExecuted": 16384,
            "graphNodeId": 77,
            "graphId": 9,
            **dict(zip(("clusterX", "clusterY", "clusterZ"), (2, 1, 1), strict=True)),
            "tensorSizeMinusOneElements": "[]",
        }
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [
        {
            **_gpu(500, 900, 10),
            "bytes": 4096,
            "copyKind": 1,
            "srcKind": 1,
            "dstKind": 2,
            "srcDeviceId": 0,
            "dstDeviceId": 0,
            "copyCount": 1,
        },
        {
            **_gpu(2000, 2100, 0, 0),
            "bytes": 65536,
            "copyKind": 11,
            "srcKind": 4,
            "dstKind": 4,
            "srcDeviceId": 0,
            "dstDeviceId": 0,
            "migrationCause": 2,
            "copyCount": 1,
        },
    ],
    "CUPTI_ACTIVITY_KIND_MEMSET": [
        {**_gpu(920, 950, 12), "value": 255, "bytes": 512, "memKind": 2}
    ],
    "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS": [
        {
            **_gpu(2200, 2300, 15),
            "eventClass": 0,
            "ChannelID": 1,
            "sourceBytes": 100,
            "NumberOfOperations": 2,
        }
    ],
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [
        {**_gpu(3000, 3400, 13), "graphId": 21, "graphExecId": 22},
        {**_gpu(3500, 0, 14), "graphId": 21, "graphExecId": 22},
    ],
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [
        {
            **_gpu(1510, 1600, 16),
            "syncType": 3,
            "eventId": 0xFFFFFFFF,
            "eventSyncId": 0xFFFFFFFF,
        }
    ],
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": [
        {**_gpu(0, 0, 17), "timestamp": 1505, "eventId": 2, "eventSyncId": 5}
    ],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        {
            **_call(400, 450, 1),
            "correlationId": 10,
            "nameId": _ID["cuMemcpyHtoDAsync_v2"],
            "returnValue": 0,
        },
        {
            **_call(940, 990, 0),
            "correlationId": 11,
            "nameId": _ID["cudaLaunchKernel_v7000"],
            "returnValue": 2,
            "callchainId": 1,
        },
    ],
    "CUDA_CALLCHAINS": [
        {"id": 1, "symbol": _ID["main"], "module": _ID["prog"], "stackDepth": 0}
    ],
    "CUPTI_ACTIVITY_KIND_OVERHEAD": [
        {**_call(100, 150, 0), "correlationId": 0, "overheadType": 6}
    ],
    "CUPTI_ACTIVITY_KIND_JIT": [
        {
            **_call(200, 260, 0),
            "correlationId": 11,
            "overheadType": 2,
            "jitEntryType": 1,
            "jitOperationType": 1,
        }
    ],
    "CUDA_GPU_MEMORY_USAGE_EVENTS": [
        {
            "start": start,
            "globalPid": _PROCESS,
            "deviceId": 0,
            "contextId": 1,
            "address": 0x7F00_0000_0000,
            "pc": 0,
            "bytes": 4096,
            "memKind": 2,
            "memoryOperationType": operation,
            "correlationId": correlation,
            "streamId": 7,
        }
        for start, operation, correlation in ((300, 0, 8), (1700, 1, 9))
    ],
    "NVTX_EVENTS": [
        _nvtx(75, 1, None, domainId=4, text="trainer"),
        _nvtx(33, 2, None, domainId=4, category=6, text="phase"),
        _nvtx(59, 10, 1700, text="iteration 0"),
        _nvtx(59, 20, 960, domainId=4, category=6, textId=_ID["registered"]),
        _nvtx(34, 30, None, text="mark", uint64Value=7),
        _nvtx(60, 40, 1200, text="crossing", rangeId=1, endGlobalTid=_HELPER),
        _nvtx(59, 1800, None, text="open", int32Value=-3),
        _nvtx(59, 1900, 1910, text="real", doubleValue=1.5),
    ],
    "SCHED_EVENTS": [
        {
            "start": start,
            "cpu": 3,
            "isSchedIn": is_in,
            "globalTid": _HELPER,
            "threadState": state,
        }
        for start, is_in, state in ((100, 1, 0), (600, 0, 2), (700, 1, 0))
    ],
    "COMPOSITE_EVENTS": [
        {
            "id": 1,
            "start": 120,
            "cpu": 3,
            "threadState": 0,
            "globalTid": _HELPER,
            "cpuCycles": 1,
        },
        {
            "id": 2,
            "start": 600,
            "cpu": 3,
            "threadState": 0,
            "globalTid": _HELPER,
            "cpuCycles": 0,
        },
    ],
    "SAMPLING_CALLCHAINS": [
        {"id": 1, "symbol": _ID["main"], "module": _ID["prog"], "stackDepth": depth}
        for depth in (0, 1)
    ],
    "OSRT_API": [
        {
            **_call(610, 690, 27, _HELPER),
            "nameId": _ID["pthread_cond_wait"],
            "returnValue": 0,
            "nestingLevel": 0,
            "callchainId": 0,
        }
    ],
    "CUDNN_EVENTS": [{**_call(430, 470, 5), "nameId": _ID["cudnnConvolutionForward"]}],
    "CUBLAS_EVENTS": [{**_call(480, 490, 6), "nameId": _ID["cublasSgemm_v2"]}],
    "MPI_COLLECTIVES_EVENTS": [
        {**_call(1300, 1400, 14), "textId": _ID["MPI_Allreduce"], "size": 2048}
    ],
    "PROFILER_OVERHEAD": [
        {
            **_call(60, 90, 0),
            "nameId": _ID["CUDA profiling data flush"],
            "returnValue": 0,
        }
    ],
    "TARGET_INFO_CUDA_STREAM": [
        {
            "streamId": 7,
            "hwId": 0,
            "vmId": 1,
            "processId": PID,
            "contextId": 1,
            "priority": 4294967293,
            "flag": 2,
        }
    ],
    "TARGET_INFO_NVTX_CUDA_STREAM": [
        {
            "name": "main stream",
            "hwId": 0,
            "vmId": 1,
            "processId": PID,
            "deviceId": 0,
            "contextId": 1,
            "streamId": 7,
        }
    ],
    "DIAGNOSTIC_EVENT": [
        {
            "timestamp": 5,
            "timestampType": 1,
            "source": 1,
            "severity": 2,
            "text": "buffer was lost",
            "globalPid": _PROCESS,
        }
    ],
    "META_DATA_CAPTURE": [{"name": "CAPTURE_EVENT_TYPE", "value": "Cuda"}],
}
