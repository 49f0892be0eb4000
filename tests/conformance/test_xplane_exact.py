"""XPlane captures equal plain Python passes over their unpacked values."""

import gzip
import json
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Converted
from tests.support.rows import rows
from tests.support.shared import TRACES, needs_shared
from tracekit.convert.xplane.xspace_pb2 import XLine, XPlane, XSpace
from tracekit.query import load_module, run_module

pytestmark = needs_shared

TENSORFLOW = TRACES / "frameworks" / "tensorflow"
TF_2_21 = TENSORFLOW / "tf2.21.0_cpu_4steps.xplane.pb"
TF_2_4 = TENSORFLOW / "tf2.4.4_cpu_4steps.xplane.pb"
JAX = (
    TRACES
    / "kineto"
    / "public"
    / "tracelens__jax_te_fused_attn__934987a2fc2f.xplane.pb"
)


def events(capture: Path, plane_name: str) -> list[dict[str, Any]]:
    """Unpack every event of a plane into plain values."""
    found = []
    for packed in XSpace.FromString(capture.read_bytes()).planes:
        plane = XPlane.FromString(packed)
        if plane.name.decode() != plane_name:
            continue
        for raw in plane.lines:
            line = XLine.FromString(raw)
            for event in line.events:
                start_ps = line.timestamp_ns * 1000 + event.offset_ps
                stats = {}
                for stat in event.stats:
                    kind = stat.WhichOneof("value")
                    assert kind is not None
                    value = getattr(stat, kind)
                    if kind == "ref_value":
                        value = plane.stat_metadata[value].name.decode()
                    stats[plane.stat_metadata[stat.metadata_id].name.decode()] = value
                found.append(
                    {
                        **stats,
                        "name": plane.event_metadata[event.metadata_id].name.decode(),
                        "start_ns": start_ps // 1000,
                        "end_ns": (start_ps + event.duration_ps) // 1000,
                    }
                )
    return found


def test_kernels_of_jax(converted: Converted) -> None:
    expected = [
        (e["name"], e["start_ns"], e["end_ns"], e["correlation_id"], e["hlo_op"])
        for e in events(JAX, "/device:GPU:0")
    ]
    assert len(expected) == 150
    names = ["name", "start_ns", "end_ns", "correlation_id", "hlo_op"]
    assert rows(converted(JAX), "kernel", *names) == sorted(
        expected, key=lambda row: row[1]
    )


def test_utilization_of_jax(converted: Converted) -> None:
    spans = sorted((e["start_ns"], e["end_ns"]) for e in events(JAX, "/device:GPU:0"))
    window = max(end for _, end in spans) - spans[0][0]
    busy, reached = 0, spans[0][0]
    for start, end in spans:
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    answer = run_module(load_module("gpu.utilization"), [converted(JAX)])
    (row,) = answer.table.to_pylist()
    assert (row["window_ns"], row["gpu_busy_ns"]) == (window, busy)
    assert row["kernel_busy_ns"] == busy


def test_every_kernel_of_jax_has_its_launch(converted: Converted) -> None:
    calls = {
        e["correlation_id"]: e["name"]
        for e in events(JAX, "/host:CPU")
        if "correlation_id" in e
    }
    expected = Counter(calls[e["correlation_id"]] for e in events(JAX, "/device:GPU:0"))
    answer = run_module(load_module("launches.summary"), [converted(JAX)])
    found = Counter[str]()
    for row in answer.table.to_pylist():
        found[row["api_name"]] += row["launches"]
    # The default limit of rows cuts nothing: there are 15 pairs.
    assert found == expected
    assert found.total() == 150


def test_devices_and_origin_of_jax(converted: Converted) -> None:
    run = converted(JAX)
    assert run.manifest.rows("device") == 8
    assert rows(run, "device", "sm_count", "memory_bytes", "max_clock_hz")[0] == (
        256,
        309_220_868_096,
        2_400_000_000,
    )
    assert run.manifest.ranks[0].origin_utc_ns == 1_779_266_702_889_805_563
    assert rows(run, "memory_event", "allocator", "device_id")[0] == ("GPU_0_bfc", 0)


@pytest.mark.parametrize(
    ("capture", "forward", "filter_gradient", "input_gradient"),
    [
        (
            TF_2_21,
            "_MklNativeFusedConv2D",
            "_MklNativeConv2DBackpropFilterWithBias",
            "_MklNativeConv2DBackpropInput",
        ),
        (TF_2_4, "_FusedConv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"),
    ],
    ids=["2.21", "2.4"],
)
def test_operators_and_steps_of_tensorflow(
    capture: Path,
    forward: str,
    filter_gradient: str,
    input_gradient: str,
    converted: Converted,
) -> None:
    run = converted(capture)
    count = Counter(name for (name,) in rows(run, "operator", "name"))
    assert count[forward] == 8
    assert count[filter_gradient] == 8
    assert count[input_gradient] == 4
    steps = rows(run, "step", "step_index", "name", "start_ns", "end_ns")
    assert [(index, name) for index, name, _, _ in steps] == [
        (index, "train") for index in range(4)
    ]
    assert all(a[3] <= b[2] for a, b in pairwise(steps))


def test_nothing_of_a_thread_is_lost_or_made_up(converted: Converted) -> None:
    run = converted(TF_2_21)
    read = sum(
        run.manifest.rows(table) for table in ("annotation", "operator", "memory_event")
    )
    (noise,) = run.manifest.skipped
    assert noise.count == 564
    assert read + noise.count == len(events(TF_2_21, "/host:CPU")) == 1400


def test_memory_events_of_tensorflow(converted: Converted) -> None:
    found = rows(converted(TF_2_21), "memory_event", "kind", "bytes", "shape", "region")
    assert Counter(row[0] for row in found) == {"allocate": 28, "free": 28}
    expected = Counter(
        (e["allocation_bytes"], e.get("shape"), e.get("region_type"))
        for e in events(TF_2_21, "/host:CPU")
        if e["name"].startswith("Memory")
    )
    assert Counter(row[1:] for row in found) == expected


def test_times_are_those_of_the_trace_viewer(converted: Converted) -> None:
    """What xprof shows of the file: the same spans, in us with three decimals."""
    path = TENSORFLOW / "tf2.21.0_cpu_4steps.xprof_trace_viewer.json.gz"
    shown = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)
    expected = Counter(
        (int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000))
        for e in shown["traceEvents"]
        # xprof makes regions of the thread pool's notes, which are no rows here.
        if e.get("ph") == "X" and not e["name"].startswith("ThreadpoolListener::")
    )
    assert expected.total() == 780
    run = converted(TF_2_21)
    found = Counter[tuple[int, int]]()
    for table in ("annotation", "operator", "memory_event"):
        names = ("time_ns", "time_ns") if table == "memory_event" else None
        found.update(rows(run, table, *(names or ("start_ns", "end_ns"))))
    missing = expected - found
    assert missing.total() == 0
