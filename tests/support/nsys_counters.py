"""The sampled values of the made-up capture: GPU metrics in both forms, an adapter."""

from collections.abc import Mapping, Sequence
from typing import Any

_GPU_TYPE = 1 << 48

COUNTERS: Mapping[str, Sequence[dict[str, Any]]] = {
    "GENERIC_EVENT_SOURCES": [
        {"sourceId": 1, "data": '{"Name":"GpuMetrics"}'},
        {"sourceId": 2, "data": '{"Name":"FTrace"}'},
    ],
    "GENERIC_EVENT_TYPES": [
        {"typeId": _GPU_TYPE, "sourceId": 1, "data": '{"Name":"GPU Metrics [0]"}'},
        {"typeId": 2 << 48, "sourceId": 2, "data": '{"Name":"sched:sched_switch"}'},
    ],
    "GENERIC_EVENTS": [
        {
            "rawTimestamp": 800,
            "timestamp": 800,
            "typeId": _GPU_TYPE,
            "data": '{"GPC Clock Frequency [MHz]":"1530000000",'
            '"SMs Active [Throughput %]":"55"}',
        },
        {
            "rawTimestamp": 801,
            "timestamp": 801,
            "typeId": 2 << 48,
            "data": '{"common_pid":"17"}',
        },
    ],
    "TARGET_INFO_GPU_METRICS": [
        {
            "typeId": _GPU_TYPE,
            "sourceId": _GPU_TYPE,
            "typeName": "",
            "metricId": metric,
            "metricName": name,
        }
        for metric, name in (
            (0, "GPC Clock Frequency [MHz]"),
            (5, "SMs Active [Throughput %]"),
        )
    ],
    "GPU_METRICS": [
        {
            "rawTimestamp": 800,
            "timestamp": 800,
            "typeId": _GPU_TYPE,
            "metricId": metric,
            "value": value,
        }
        for metric, value in ((0, 1_530_000_000), (5, 55))
    ],
    "TARGET_INFO_NIC_INFO": [
        {"GUID": 1, "stateName": "", "nicId": 2, "name": "mlx5_0"}
    ],
    "NIC_ID_MAP": [{"nicId": 2, "globalId": 99}],
    "TARGET_INFO_NETWORK_METRICS": [
        {
            "metricsListId": 1,
            "metricsIdx": 0,
            "name": "IB: Bytes sent",
            "description": "",
            "unit": "B/ms",
        }
    ],
    "NET_NIC_METRIC": [
        {
            "start": 700,
            "end": 810,
            "globalId": 99,
            "portId": 1,
            "metricsListId": 1,
            "metricsIdx": 0,
            "value": 12345,
        }
    ],
}
