"""Parts add up on the host: random calls and operators against a count of instants."""

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import QueryRows
from tests.support.traces import (
    LAST,
    Call,
    Span,
    Trace,
    covered,
    many,
    on_random_traces,
    spans,
    tables,
    trace_of,
    work,
)

KINDS = ("kernel", "kernel", "graph_launch", "memcpy", "memset")
WINDOWS = pytest.mark.parametrize("window", [None, "10:35"])
NAMES = ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaDeviceSynchronize")
called = st.builds(
    Trace,
    work(KINDS),
    st.lists(
        st.builds(
            Call, st.integers(0, 1), st.integers(0, 1), spans, st.sampled_from(NAMES)
        ),
        max_size=6,
    ),
)


def within(trace: Trace, device: int, window: str | None) -> set[int]:
    return set(trace.window(device) if window is None else range(10, 35))


@pytest.mark.parametrize("basis", ["api", "api_working"])
@WINDOWS
@on_random_traces
@given(traces=many(called))
def test_four_parts_are_the_window(
    query_rows: QueryRows, traces: list[Trace], window: str | None, basis: str
) -> None:
    rows = query_rows(
        "overlap.cpu_gpu", tables(traces), window=window, parameters={"basis": basis}
    )
    assert len(rows) == sum(len(trace.devices) for trace in traces)
    for row in rows:
        trace, device = trace_of(traces, row["device_id"])
        whole = within(trace, device, window)
        users = {w.process for w in trace.work if w.device == device}
        cpu = whole & covered(
            call.span
            for call in trace.calls
            if call.process in users
            and (basis == "api" or "Synchronize" not in call.name)
        )
        gpu = whole & trace.on(device, *KINDS)
        parts = (cpu & gpu, cpu - gpu, gpu - cpu, whole - cpu - gpu)
        names = ("both_ns", "cpu_only_ns", "gpu_only_ns", "neither_ns")
        assert [row[name] for name in names] == [len(part) for part in parts]
        assert row["window_ns"] == len(whole)


@WINDOWS
@on_random_traces
@given(traces=many(st.builds(Trace, work(KINDS))))
def test_gaps_are_the_time_without_work(
    query_rows: QueryRows, traces: list[Trace], window: str | None
) -> None:
    rows = query_rows(
        "gpu.idle_gaps", tables(traces), window=window, parameters={"limit": 0}
    )
    gaps: dict[int, list[int]] = {}
    for row in rows:
        assert row["duration_ns"] == row["end_ns"] - row["start_ns"] > 0
        gap = range(row["start_ns"], row["end_ns"])
        gaps.setdefault(row["device_id"], []).extend(gap)
    for number, trace in enumerate(traces):
        for device in trace.devices:
            whole = within(trace, device, window)
            idle = whole - trace.on(device, *KINDS)
            # A list: an instant that two gaps have would be in it twice.
            assert sorted(gaps.get(2 * number + device, [])) == sorted(idle)


@on_random_traces
@given(traces=many(called))
def test_calls_of_a_thread_are_united(
    query_rows: QueryRows, traces: list[Trace]
) -> None:
    rows = query_rows("cpu.threads", tables(traces))
    found = {(row["process_id"], row["thread_id"]): row for row in rows}
    for number, trace in enumerate(traces):
        for process in (0, 1):
            for thread in (0, 1):
                mine = [
                    call
                    for call in trace.calls
                    if (call.process, call.thread) == (process, thread)
                ]
                row = found.get((2 * number + process, 2 * number + thread))
                if row is None:
                    assert not mine
                    continue
                waits = [call.span for call in mine if "Synchronize" in call.name]
                assert row["api_calls"] == len(mine)
                assert row["api_ns"] == len(covered(call.span for call in mine))
                assert row["sync_ns"] == len(covered(waits))


@dataclass(frozen=True)
class Operator:
    """An operator; `number` tells which of two that coincide is inside."""

    number: int
    thread: int
    name: str
    span: Span


@dataclass(frozen=True)
class Launch:
    """A call at an instant, and how long its kernel ran."""

    thread: int
    at: int
    kernel_ns: int


@dataclass(frozen=True)
class Program:
    """What the threads 0 and 1 of a process did."""

    operators: list[Operator]
    launches: list[Launch]

    def innermost(self, thread: int, now: int) -> Operator | None:
        """Return the operator that began last of those that are open."""
        there = [
            operator
            for operator in self.operators
            if operator.thread == thread and operator.span[0] <= now < operator.span[1]
        ]
        return max(there, key=place, default=None)


def place(operator: Operator) -> tuple[int, int, int]:
    return operator.span[0], -operator.span[1], operator.number


def nest(one: Span, other: Span) -> bool:
    """Tell whether two intervals do not cross."""
    inside = one[0] >= other[0] and one[1] <= other[1]
    around = one[0] <= other[0] and one[1] >= other[1]
    return inside or around or one[1] <= other[0] or one[0] >= other[1]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draw operators that nest on each thread, and launches at any time."""
    drawn = draw(
        st.lists(
            st.tuples(st.integers(0, 1), st.sampled_from("abc"), spans), max_size=9
        )
    )
    kept: list[Operator] = []
    for number, (thread, name, span) in enumerate(drawn):
        if all(o.thread != thread or nest(span, o.span) for o in kept):
            kept.append(Operator(number, thread, name, span))
    launches = st.builds(
        Launch, st.integers(0, 1), st.integers(0, LAST + 12), st.integers(1, 9)
    )
    return Program(kept, draw(st.lists(launches, max_size=6)))


def rows_of(drawn: list[Program]) -> dict[str, str]:
    operators = ["operator_id, process_id, thread_id, name, start_ns, end_ns"]
    kernels = ["process_id, device_id, start_ns, end_ns, correlation_id"]
    calls = ["process_id, thread_id, start_ns, end_ns, name, correlation_id"]
    for process, program in enumerate(drawn):
        for o in program.operators:
            number = 100 * process + o.number
            thread = 2 * process + o.thread
            row = (number, process, thread, o.name, *o.span)
            operators.append(", ".join(map(str, row)))
        for id_, launch in enumerate(program.launches):
            thread = 2 * process + launch.thread
            calls.append(
                f"{process}, {thread}, {launch.at}, {launch.at + 1}, "
                f"cudaLaunchKernel, {id_}"
            )
            kernels.append(f"{process}, 0, 100, {100 + launch.kernel_ns}, {id_}")
    found = {"operator": operators, "kernel": kernels, "api_call": calls}
    return {name: "\n".join(rows) for name, rows in found.items() if len(rows) > 1}


@on_random_traces
@given(drawn=st.lists(programs(), min_size=12, max_size=12))
def test_operators_share_the_time_of_their_threads(
    query_rows: QueryRows, drawn: list[Program]
) -> None:
    host_self, device_self, kernels = Counter[str](), Counter[str](), Counter[str]()
    host_total, device_total = Counter[str](), Counter[str]()
    united = 0
    for program in drawn:
        for thread in (0, 1):
            mine = [o for o in program.operators if o.thread == thread]
            united += len(covered(o.span for o in mine))
            for now in range(LAST + 13):
                innermost = program.innermost(thread, now)
                if innermost is not None:
                    host_self[innermost.name] += 1
            for operator in sorted(mine, key=place):
                before = [
                    o
                    for o in mine
                    if o.name == operator.name and place(o) < place(operator)
                ]
                if any(operator.span[0] < o.span[1] for o in before):
                    continue
                start, end = operator.span
                host_total[operator.name] += end - start
                device_total[operator.name] += sum(
                    launch.kernel_ns
                    for launch in program.launches
                    if launch.thread == thread and start <= launch.at < end
                )
        for launch in program.launches:
            innermost = program.innermost(launch.thread, launch.at)
            if innermost is not None:
                device_self[innermost.name] += launch.kernel_ns
                kernels[innermost.name] += 1
    rows = query_rows("operators.hotspots", rows_of(drawn), parameters={"limit": 0})
    assert {row["operator_name"] for row in rows} == {
        o.name for program in drawn for o in program.operators
    }
    for row in rows:
        name = row["operator_name"]
        assert row["host_self_ns"] == host_self[name]
        assert row["host_total_ns"] == host_total[name]
        assert (row["device_self_ns"] or 0) == device_self[name]
        assert (row["device_total_ns"] or 0) == device_total[name]
        assert (row["launches"] or 0) == kernels[name]
    assert sum(row["host_self_ns"] for row in rows) == united
