"""Parts add up to the whole: queries on random traces against a count of instants."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import QueryRows
from tests.support.traces import (
    Call,
    Span,
    Trace,
    covered,
    disjoint_spans,
    many,
    on_random_traces,
    spans,
    tables,
    trace_of,
    work,
)

calls = st.lists(
    st.builds(Call, st.integers(0, 1), st.integers(0, 1), spans), max_size=5
)
ALL_KINDS = ("kernel", "kernel", "graph_launch", "memcpy", "memset")
stepped = st.builds(
    Trace, work(ALL_KINDS, ("gemm", "ncclKernel")), calls, disjoint_spans()
)


@on_random_traces
@given(many(stepped))
def test_parts_of_a_step(query_rows: QueryRows, traces: list[Trace]) -> None:
    rows = query_rows("steps.breakdown", tables(traces), window="all")
    used = [len({w.device for w in t.work if w.process == 0}) for t in traces]
    assert len(rows) == sum(
        len(t.steps) * max(count, 1) for t, count in zip(traces, used, strict=True)
    )
    layers = {
        "kernel_ns": ("kernel", "gemm"),
        "communication_ns": ("kernel", "ncclKernel"),
        "graph_ns": ("graph_launch", None),
        "copy_ns": ("memcpy", None),
        "fill_ns": ("memset", None),
    }
    for row in rows:
        trace, _ = trace_of(traces, row["process_id"])
        own = Trace([w for w in trace.work if w.process == 0])
        left = set(range(*trace.steps[row["step_index"]]))
        assert row["duration_ns"] == len(left)
        for column, (kind, name) in layers.items():
            device = -1 if row["device_id"] is None else row["device_id"] % 2
            mine = own.on(device, kind, name=name)
            assert row[column] == len(left & mine), column
            left -= mine
        api = covered(c.span for c in trace.calls if c.process == 0)
        assert row["api_ns"] == len(left & api)
        assert row["idle_ns"] == len(left - api)


@st.composite
def launched(draw: st.DrawFn) -> Trace:
    """Draw work, most of it with a launch call, and calls that synchronize."""
    kinds = draw(st.sampled_from([("kernel", "kernel", "memcpy"), ALL_KINDS]))
    numbered = [
        replace(w, process=0, correlation=number)
        for number, w in enumerate(draw(work(kinds)))
    ]
    host = [
        Call(0, draw(st.integers(0, 1)), draw(spans), correlation=w.correlation)
        for w in numbered
        if draw(st.integers(0, 4))
    ]
    waits = st.builds(
        Call, st.just(0), st.integers(0, 1), spans, st.just("cudaStreamSynchronize")
    )
    return Trace(
        numbered,
        [*host, *draw(st.lists(waits, max_size=3))],
        draw(disjoint_spans()),
        draw(st.lists(spans, max_size=2)),
    )


@pytest.mark.parametrize("each", ["device", "step", "window"])
@on_random_traces
@given(traces=many(launched()))
def test_causes_of_idle_time(
    query_rows: QueryRows, traces: list[Trace], each: str
) -> None:
    rows = query_rows(
        "gpu.idle_attribution",
        tables(traces),
        window="10:35" if each == "window" else None,
        parameters={"each": "step" if each == "step" else "device"},
    )
    assert len(rows) == sum(
        len(t.devices) * (len(t.steps) if each == "step" else 1) for t in traces
    )
    for row in rows:
        trace, device = trace_of(traces, row["device_id"])
        window = {"device": trace.window(device), "window": range(10, 35)}.get(each)
        if window is None:
            window = range(*trace.steps[row["step_index"]])
        graphs = row["graphs_are_work"]
        assert graphs == any(
            (w.device, w.activity) == (device, "graph_launch")
            and (each != "window" or (w.span[0] < 35 and w.span[1] > 10))
            for w in trace.work
        )
        busy = trace.on(device, *(ALL_KINDS if graphs else ["kernel"]))
        causes = Counter(cause(now, trace, device) for now in set(window) - busy)
        assert row["window_ns"] == len(window)
        assert row["not_computing_ns"] == causes.total()
        found = {name: row[f"{name}_ns"] for name in CAUSES if row[f"{name}_ns"]}
        assert found == causes


CAUSES = (
    "copy",
    "capture_artifact",
    "synchronization",
    "launch_in_flight",
    "host_late",
    "dependency",
    "unknown",
)


def cause(now: int, trace: Trace, device: int) -> str:
    """Return why no kernel runs at an instant, by the rule as it is written."""

    def holds(span: Span) -> bool:
        return span[0] <= now < span[1]

    mine = [w for w in trace.work if w.device == device]
    if any(holds(w.span) for w in mine):
        return "copy"
    if any(holds(span) for span in trace.overhead):
        return "capture_artifact"
    following = sorted(
        (w for w in mine if w.span[0] > now and w.span[1] > w.span[0]),
        key=lambda w: (w.span[0], -w.span[1], w.correlation),
    )
    calls_of = (
        c for w in following[:1] for c in trace.calls if c.correlation == w.correlation
    )
    call = next(calls_of, None)
    if call is None:
        return "unknown"
    waits = [
        c for c in trace.calls if c.thread == call.thread and c.correlation is None
    ]
    if any(holds(wait.span) for wait in waits):
        return "synchronization"
    if holds(call.span):
        return "launch_in_flight"
    return "host_late" if now < call.span[0] else "dependency"


busy = st.builds(Trace, work(ALL_KINDS, ("gemm", "ncclKernel")))
WINDOWS = pytest.mark.parametrize("window", [None, "10:35"])


def inside(trace: Trace, device: int, window: str | None) -> set[int]:
    """Return the instants of a window."""
    return set(trace.window(device) if window is None else range(10, 35))


@WINDOWS
@on_random_traces
@given(traces=many(busy))
def test_communication_is_overlapped_or_exposed(
    query_rows: QueryRows, traces: list[Trace], window: str | None
) -> None:
    rows = query_rows("overlap.comm_compute", tables(traces), window=window)
    for row in rows:
        trace, device = trace_of(traces, row["device_id"])
        within = inside(trace, device, window)
        talk = trace.on(device, "kernel", name="ncclKernel") & within
        compute = trace.on(device, "kernel", name="gemm") & within
        assert row["communication_ns"] == len(talk)
        assert row["overlapped_ns"] == len(talk & compute)
        assert row["exposed_ns"] == len(talk - compute)
        assert row["compute_ns"] == len(compute)


@WINDOWS
@on_random_traces
@given(traces=many(busy))
def test_copies_are_overlapped_or_exposed(
    query_rows: QueryRows, traces: list[Trace], window: str | None
) -> None:
    rows = query_rows("overlap.copy_compute", tables(traces), window=window)
    found = {row["device_id"]: row for row in rows if row["operation"] is None}
    for number, trace in enumerate(traces):
        for device in trace.devices:
            within = inside(trace, device, window)
            copies = trace.on(device, "memcpy") & within
            kernels = trace.on(device, "kernel") & within
            row = found.get(2 * number + device)
            if row is None:
                assert not copies
                continue
            assert row["copy_ns"] == len(copies)
            assert row["overlapped_ns"] == len(copies & kernels)
            assert row["exposed_ns"] == len(copies - kernels)


@WINDOWS
@on_random_traces
@given(traces=many(busy))
def test_bins_are_the_busy_time_between_their_edges(
    query_rows: QueryRows, traces: list[Trace], window: str | None
) -> None:
    rows = query_rows(
        "gpu.timeline", tables(traces), window=window, parameters={"bins": 7}
    )
    spans_of: dict[int, list[int]] = {}
    for row in rows:
        trace, device = trace_of(traces, row["device_id"])
        part = set(range(row["start_ns"], row["end_ns"]))
        assert row["kernel_busy_ns"] == len(trace.on(device, "kernel") & part)
        assert row["gpu_busy_ns"] == len(trace.on(device, *ALL_KINDS) & part)
        spans_of.setdefault(row["device_id"], []).extend(sorted(part))
    for number, trace in enumerate(traces):
        for device in trace.devices:
            whole = sorted(inside(trace, device, window))
            assert spans_of.get(2 * number + device, []) == whole


@WINDOWS
@on_random_traces
@given(traces=many(busy))
def test_busy_times_are_unions(
    query_rows: QueryRows, traces: list[Trace], window: str | None
) -> None:
    rows = query_rows("gpu.utilization", tables(traces), window=window)
    assert len(rows) == sum(len(trace.devices) for trace in traces)
    for row in rows:
        trace, device = trace_of(traces, row["device_id"])
        whole = inside(trace, device, window)
        assert row["window_ns"] == len(whole)
        kernels = trace.on(device, "kernel") & set(whole)
        assert row["kernel_busy_ns"] == len(kernels)
        everything = trace.on(device, *ALL_KINDS) & set(whole)
        assert row["gpu_busy_ns"] == len(everything)


@on_random_traces
@given(traces=many(launched()))
def test_waits_are_busy_or_idle(query_rows: QueryRows, traces: list[Trace]) -> None:
    rows = query_rows("sync.costs", tables(traces))
    found = {(row["process_id"], row["thread_id"]): row for row in rows}
    for number, trace in enumerate(traces):
        gpus = covered(w.span for w in trace.work)
        for thread in (0, 1):
            waits = [
                set(range(*call.span))
                for call in trace.calls
                if call.thread == thread and call.correlation is None
            ]
            row = found.get((2 * number, 2 * number + thread))
            if row is None:
                assert not waits
                continue
            assert row["calls"] == len(waits)
            assert row["gpu_busy_ns"] == sum(len(wait & gpus) for wait in waits)
            assert row["gpu_idle_ns"] == sum(len(wait - gpus) for wait in waits)
