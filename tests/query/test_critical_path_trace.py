"""critical_path.trace: the chain of what waited for what, by hand and brute force."""

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import QueryRows
from tests.support.tables import Row
from tests.support.traces import on_random_traces

WORK = "process_id, device_id, stream_id, name, start_ns, end_ns, correlation_id\n"
CALL = "process_id, thread_id, name, start_ns, end_ns, correlation_id\n"
STEP = "step_index, process_id, start_ns, end_ns\n"


def path(rows: list[Row]) -> list[tuple[object, ...]]:
    names = ("start_ns", "end_ns", "bound_by", "kind", "name")
    for before, after in pairwise(rows):
        assert before["end_ns"] == after["start_ns"]
    return [tuple(row[name] for name in names) for row in rows]


def test_a_step_bound_by_the_gpu(query_rows: QueryRows) -> None:
    rows = query_rows(
        "critical_path.trace",
        kernel=WORK + "0, 0, 7, a, 15, 50, 1\n0, 0, 7, b, 52, 95, 2",
        api_call=CALL
        + "0, 0, cudaLaunchKernel, 0, 10, 1\n0, 0, cudaLaunchKernel, 10, 20, 2\n"
        "0, 0, cudaDeviceSynchronize, 20, 100, 3",
        step=STEP + "4, 0, 0, 110",
    )
    assert rows[0]["step_index"] == 4
    assert path(rows) == [
        (0, 10, "host", "call", "cudaLaunchKernel"),
        (10, 15, "launch_delay", "launch", "a"),
        (15, 50, "gpu_compute", "running", "a"),
        (50, 52, "gpu_delay", "stream", "b"),
        (52, 95, "gpu_compute", "running", "b"),
        (95, 100, "host", "return", "cudaDeviceSynchronize"),
        (100, 110, "host", "host", None),
    ]


def test_a_step_bound_by_launches(query_rows: QueryRows) -> None:
    rows = query_rows(
        "critical_path.trace",
        kernel=WORK + "0, 0, 7, a, 15, 20, 1\n0, 0, 7, ncclDevKernel_x, 36, 42, 2",
        api_call=CALL
        + "0, 0, cudaLaunchKernel, 5, 12, 1\n0, 0, cudaLaunchKernel, 30, 40, 2",
        step=STEP + "0, 0, 0, 41",
    )
    # The second kernel begins while its call still runs, and ends after the step.
    assert path(rows) == [
        (0, 5, "host", "host", "cudaLaunchKernel"),
        (5, 12, "host", "call", "cudaLaunchKernel"),
        (12, 30, "host", "host", "cudaLaunchKernel"),
        (30, 36, "host", "call", "cudaLaunchKernel"),
        (36, 42, "gpu_communication", "running", "ncclDevKernel_x"),
    ]


EVENTS = {
    "kernel": WORK + "0, 0, 7, a, 20, 60, 1\n0, 0, 8, b, 62, 80, 4",
    "api_call": CALL
    + """0, 0, cudaLaunchKernel, 0, 5, 1
         0, 0, cudaEventRecord, 5, 6, 2
         0, 0, cudaStreamWaitEvent, 6, 7, 3
         0, 0, cudaLaunchKernel, 7, 9, 4""",
    "step": STEP + "0, 0, 0, 10",
}
BY_EVENT = [
    (0, 5, "host", "call", "cudaLaunchKernel"),
    (5, 20, "launch_delay", "launch", "a"),
    (20, 60, "gpu_compute", "running", "a"),
    (60, 62, "gpu_delay", "event", "b"),
    (62, 80, "gpu_compute", "running", "b"),
]


def test_an_event_lets_another_stream_go_on(query_rows: QueryRows) -> None:
    recorded = {
        "cuda_event": "process_id, device_id, stream_id, correlation_id, event_id\n"
        "0, 0, 7, 2, 5",
        "sync": "process_id, device_id, stream_id, correlation_id, event_id, kind,"
        " start_ns, end_ns\n0, 0, 8, 3, 5, stream_wait_event, 6, 7",
    }
    rows = query_rows("critical_path.trace", {**EVENTS, **recorded})
    assert path(rows) == BY_EVENT


def test_events_that_were_not_recorded_are_told_by_the_calls(
    query_rows: QueryRows,
) -> None:
    assert path(query_rows("critical_path.trace", EVENTS)) == BY_EVENT
    without = EVENTS["api_call"].replace("cudaStreamWaitEvent", "cudaEventQuery")
    rows = query_rows("critical_path.trace", {**EVENTS, "api_call": without})
    assert path(rows)[-2:] == [
        (9, 62, "launch_delay", "launch", "b"),
        (62, 80, "gpu_compute", "running", "b"),
    ]


def test_kernels_of_a_graph_follow_each_other(query_rows: QueryRows) -> None:
    rows = query_rows(
        "critical_path.trace",
        kernel=WORK + "0, 0, 7, a, 10, 20, 1\n0, 0, 8, b, 23, 30, 1",
        api_call=CALL + "0, 0, cudaGraphLaunch, 0, 8, 1",
        step=STEP + "0, 0, 0, 9",
    )
    assert path(rows)[-3:] == [
        (10, 20, "gpu_compute", "running", "a"),
        (20, 23, "gpu_delay", "event", "b"),
        (23, 30, "gpu_compute", "running", "b"),
    ]


def test_a_kernel_that_begins_before_the_last_has_ended(query_rows: QueryRows) -> None:
    rows = query_rows(
        "critical_path.trace",
        kernel=WORK + "0, 0, 7, a, 10, 30, 1\n0, 0, 7, b, 25, 40, 2",
        api_call=CALL
        + "0, 0, cudaLaunchKernel, 0, 4, 1\n0, 0, cudaLaunchKernel, 4, 8, 2",
        step=STEP + "0, 0, 0, 9",
    )
    assert path(rows)[-2:] == [
        (10, 25, "gpu_compute", "running", "a"),
        (25, 40, "gpu_compute", "running", "b"),
    ]


def test_a_copy_that_its_call_waits_for(query_rows: QueryRows) -> None:
    rows = query_rows(
        "critical_path.trace",
        memcpy="process_id, device_id, stream_id, copy_kind, start_ns, end_ns,"
        " correlation_id\n0, 0, 7, DtoH, 8, 20, 1",
        api_call=CALL + "0, 0, cudaMemcpyAsync, 2, 23, 1",
        step=STEP + "0, 0, 0, 30",
    )
    assert path(rows) == [
        (0, 2, "host", "host", "cudaMemcpyAsync"),
        (2, 8, "host", "call", "cudaMemcpyAsync"),
        (8, 20, "gpu_copy", "running", "DtoH"),
        (20, 23, "host", "return", "cudaMemcpyAsync"),
        (23, 30, "host", "host", None),
    ]


def test_threads_hand_their_work_to_each_other(query_rows: QueryRows) -> None:
    rows = query_rows(
        "critical_path.trace",
        kernel=WORK + "0, 0, 7, a, 6, 8, 1\n0, 0, 7, b, 30, 40, 2",
        api_call=CALL
        + "0, 0, cudaLaunchKernel, 2, 5, 1\n0, 1, cudaLaunchKernel, 20, 25, 2",
        step=STEP + "0, 0, 0, 26",
    )
    assert path(rows)[:3] == [
        (0, 2, "host", "host", "cudaLaunchKernel"),
        (2, 5, "host", "call", "cudaLaunchKernel"),
        (5, 20, "host", "host", "cudaLaunchKernel"),
    ]


def test_work_of_the_step_before_that_this_one_waits_for(query_rows: QueryRows) -> None:
    tables = {
        "kernel": WORK + "0, 0, 7, old, 5, 40, 1\n0, 0, 7, new, 41, 50, 2",
        "api_call": CALL
        + "0, 0, cudaLaunchKernel, 0, 3, 1\n0, 0, cudaLaunchKernel, 12, 14, 2",
        "step": STEP + "0, 0, 0, 10\n1, 0, 10, 20",
    }
    rows = query_rows("critical_path.trace", tables, parameters={"step": 1})
    assert path(rows) == [
        (10, 40, "gpu_compute", "running", "old"),
        (40, 41, "gpu_delay", "stream", "new"),
        (41, 50, "gpu_compute", "running", "new"),
    ]


def test_without_steps_it_is_the_window(query_rows: QueryRows) -> None:
    tables = {"kernel": WORK + "0, 0, 7, a, 10, 20, NULL\n0, 0, 7, b, 25, 30, NULL"}
    rows = query_rows("critical_path.trace", tables)
    assert path(rows) == [
        (10, 20, "gpu_compute", "running", "a"),
        (20, 25, "gpu_delay", "stream", "b"),
        (25, 30, "gpu_compute", "running", "b"),
    ]


def test_a_step_without_gpu_work_is_unknown(query_rows: QueryRows) -> None:
    rows = query_rows(
        "critical_path.trace",
        kernel=WORK + "0, 0, 7, a, 100, 110, NULL",
        step=STEP + "0, 0, 0, 10",
    )
    assert path(rows) == [(0, 10, "unknown", "unknown", None)]


def test_the_step_of_middle_length(query_rows: QueryRows) -> None:
    rows = query_rows(
        "critical_path.trace",
        kernel=WORK + "0, 0, 7, a, 1, 2, NULL",
        step=STEP + "0, 0, 0, 30\n1, 0, 30, 50\n2, 0, 50, 60",
    )
    assert {row["step_index"] for row in rows} == {1}


# The brute force: the rules as they are written, each over all points.


@dataclass(frozen=True)
class Launch:
    """A call, and the kernel on a stream that it launches, if it does."""

    thread: int
    span: tuple[int, int]
    name: str
    stream: int = 0
    kernel: tuple[int, int] | None = None

    @property
    def empty(self) -> bool:
        """Whether the call has no length."""
        return self.span[0] == self.span[1]


@st.composite
def programs(draw: st.DrawFn, lanes: int = 2) -> list[Launch]:
    """Draw calls that follow each other on each thread; streams run in order."""
    busy = dict.fromkeys(range(lanes), 0)
    free = dict.fromkeys(range(lanes), 0)
    found = []
    for _ in range(draw(st.integers(1, 7))):
        thread, stream = (draw(st.integers(0, lanes - 1)) for _ in range(2))
        start = busy[thread] + draw(st.integers(0, 4))
        end = start + draw(st.integers(0, 4))
        kind = draw(st.sampled_from(["kernel", "kernel", "kernel", "sync", "query"]))
        call = Launch(thread, (start, end), kind, stream)
        if kind == "kernel":
            begin = max(free[stream], start + draw(st.integers(0, 6)))
            begin += draw(st.integers(0, 1))
            finish = begin + draw(st.integers(1, 8))
            free[stream] = finish
            call = replace(call, kernel=(begin, finish))
        elif kind == "sync":
            end = max(end, *(free[s] for s in free)) + draw(st.integers(0, 2))
            call = replace(call, span=(start, end))
        busy[thread] = end
        found.append(call)
    return found


def as_tables(programs_: list[list[Launch]]) -> dict[str, str]:
    names = {
        "kernel": "cudaLaunchKernel",
        "sync": "cudaDeviceSynchronize",
        "query": "cudaEventQuery",
    }
    kernels, calls, steps = [], [], []
    for process, program in enumerate(programs_):
        for number, call in enumerate(program):
            calls.append(
                f"{process}, {2 * process + call.thread}, {names[call.name]},"
                f" {call.span[0]}, {call.span[1]}, {number}"
            )
            if call.kernel:
                kernels.append(
                    f"{process}, {process}, {call.stream}, k{number},"
                    f" {call.kernel[0]}, {call.kernel[1]}, {number}"
                )
        steps.append(f"0, {process}, 0, {max(c.span[1] for c in program) + 1}")
    found = {"api_call": CALL + "\n".join(calls), "step": STEP + "\n".join(steps)}
    if kernels:
        found["kernel"] = WORK + "\n".join(kernels)
    return found


Point = tuple[str, int, str]  # call or kernel, its number, start or end


def order(program: list[Launch], n: int) -> tuple[int, int]:
    return program[n].thread, n


def graph(program: list[Launch]) -> tuple[dict[Point, int], dict[Point, list[Point]]]:
    """Return the time of each point, and which it follows."""
    launchers = {call.thread for call in program if call.kernel}
    at: dict[Point, int] = {}
    for n, call in enumerate(program):
        if call.thread in launchers:
            at["call", n, "start"], at["call", n, "end"] = call.span
        if call.kernel:
            at["kernel", n, "start"], at["kernel", n, "end"] = call.kernel
    follows: dict[Point, list[Point]] = {}
    for point, now in at.items():
        what, n, edge = point
        found: list[Point] = []
        if edge == "end":
            found.append((what, n, "start"))
            if what == "call" and program[n].name == "sync":
                found += [
                    p
                    for p, time in at.items()
                    if p[0] == "kernel" and p[2] == "end" and time <= now
                ]
        elif what == "call":
            found += [
                p
                for p, time in at.items()
                if p[0] == "call"
                and p[2] == "end"
                and time <= now
                # Of calls without length at one time the first comes first.
                and (
                    not program[n].empty
                    or not program[p[1]].empty
                    or time < now
                    or order(program, p[1]) < order(program, n)
                )
            ]
        else:
            found += [
                ("call", n, e) for e in ("start", "end") if at["call", n, e] <= now
            ]
            found += [
                p
                for p, time in at.items()
                if p[0] == "kernel"
                and p[2] == "end"
                and program[p[1]].stream == program[n].stream
                and time <= now
            ]
        follows[point] = found
    return at, follows


@on_random_traces
@given(found=st.lists(programs(), min_size=25, max_size=25))
def test_it_is_a_longest_path(query_rows: QueryRows, found: list[list[Launch]]) -> None:
    rows = query_rows("critical_path.trace", as_tables(found))
    for process, program in enumerate(found):
        if not any(call.kernel for call in program):
            continue
        at, follows = graph(program)
        step_end = max(call.span[1] for call in program) + 1
        length = max(step_end, *(c.kernel[1] for c in program if c.kernel))
        mine = [row for row in rows if row["process_id"] == process]
        assert sum(row["duration_ns"] for row in mine) == length
        path(mine)
        # A point happens its own time after the last that it follows: no path to it
        # has more of such times on it, and one has as much.
        last = {p: max((at[u] for u in us), default=0) for p, us in follows.items()}
        longest = dict.fromkeys(at, 0)
        for _ in at:
            for p, us in follows.items():
                before = max((longest[u] for u in us), default=0)
                longest[p] = before + at[p] - last[p]
        assert longest == at
        # The pieces are such times, from the begin to the end: they are that path.
        times = {(last[p], at[p]) for p in at}
        times.add((max(at[p] for p in at if p[0] == "call"), step_end))
        for row in mine:
            assert (row["start_ns"], row["end_ns"]) in times, row


def launchers(program: list[Launch]) -> set[int]:
    return {call.thread for call in program if call.kernel}


@pytest.mark.parametrize("name", ["critical_path.trace", "critical_path.summary"])
def test_a_run_without_work_has_no_rows(query_rows: QueryRows, name: str) -> None:
    assert query_rows(name) == []
