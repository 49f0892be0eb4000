"""whatif.kernel: a step replayed with faster kernels or free copies."""

from statistics import median_low

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import QueryRows
from tests.query.test_critical_path_trace import (
    CALL,
    STEP,
    WORK,
    Launch,
    as_tables,
    programs,
)
from tests.support.tables import table
from tests.support.traces import on_random_traces

TABLES = {
    "kernel": WORK + "0, 0, 7, gemm, 15, 49, 1\n0, 0, 7, relu, 52, 96, 2",
    "api_call": CALL
    + "0, 0, cudaLaunchKernel, 0, 10, 1\n0, 0, cudaLaunchKernel, 10, 20, 2\n"
    "0, 0, cudaDeviceSynchronize, 20, 100, 3",
    "step": STEP + "4, 0, 0, 110",
}


def test_kernels_that_bound_the_step(query_rows: QueryRows) -> None:
    rows = query_rows("whatif.kernel", TABLES, parameters={"kernels": "all"})
    # gemm ends at 15 + 17 = 32; relu begins 3 later, ends at 35 + 22 = 57; the call
    # returns 4 later, and the host goes on for 10: 71.
    assert rows == table("""
        process_id, step_index, activities, activities_ns, removed_ns, step_ns, replayed_ns, predicted_ns, saved_ns, speedup
        0,          4,                   2,            78,         39,     110,         110,           71,       39, 1.549
    """)  # noqa: E501 - a table is read across


@pytest.mark.parametrize(
    ("kernels", "predicted"), [("gemm", 93), ("^rel", 88), ("none", 110), ("conv", 110)]
)
def test_only_the_kernels_asked_for(
    query_rows: QueryRows, kernels: str, predicted: int
) -> None:
    (row,) = query_rows("whatif.kernel", TABLES, parameters={"kernels": kernels})
    assert (row["replayed_ns"], row["predicted_ns"]) == (110, predicted)


def test_the_host_limits_what_faster_kernels_bring(query_rows: QueryRows) -> None:
    late = {
        **TABLES,
        "api_call": CALL
        + "0, 0, cudaLaunchKernel, 0, 10, 1\n0, 0, cudaLaunchKernel, 35, 40, 2\n"
        "0, 0, cudaDeviceSynchronize, 50, 100, 3",
    }
    parameters = {"kernels": "gemm", "faster": 34}
    (row,) = query_rows("whatif.kernel", late, parameters=parameters)
    # relu is launched at 40, and begins the launch delay of gemm (5) and its own 3
    # after that, although gemm ends at 16.
    assert row["predicted_ns"] == 48 + 44 + 4 + 10
    assert row["removed_ns"] == 33


COPY = {
    "memcpy": "process_id, device_id, stream_id, copy_kind, start_ns, end_ns,"
    " correlation_id\n0, 0, 7, HtoD, 10, 30, 1",
    "kernel": WORK + "0, 0, 7, gemm, 32, 50, 2",
    "api_call": CALL
    + "0, 0, cudaMemcpyAsync, 0, 5, 1\n0, 0, cudaLaunchKernel, 5, 8, 2",
    "step": STEP + "0, 0, 0, 9",
}


@pytest.mark.parametrize(
    ("copies", "predicted"), [("recorded", 50), ("faster", 40), ("hidden", 33)]
)
def test_copies_may_be_hidden(
    query_rows: QueryRows, copies: str, predicted: int
) -> None:
    # Without the copy gemm begins the launch delay (5) and its own 2 after 8.
    parameters = {"kernels": "none", "copies": copies}
    (row,) = query_rows("whatif.kernel", COPY, parameters=parameters)
    assert (row["replayed_ns"], row["predicted_ns"]) == (50, predicted)


def test_work_of_an_earlier_step_stays(query_rows: QueryRows) -> None:
    tables = {
        "kernel": WORK + "0, 0, 7, old, 5, 40, 1\n0, 0, 7, new, 41, 51, 2",
        "api_call": CALL
        + "0, 0, cudaLaunchKernel, 0, 3, 1\n0, 0, cudaLaunchKernel, 12, 14, 2",
        "step": STEP + "0, 0, 0, 10\n1, 0, 10, 20",
    }
    parameters = {"kernels": "all", "step": 1}
    (row,) = query_rows("whatif.kernel", tables, parameters=parameters)
    assert (row["activities"], row["step_ns"], row["predicted_ns"]) == (1, 41, 36)


def replayed(program: list[Launch], faster: int) -> int:
    """Return the length of a step of one thread and stream, replayed call by call."""
    delays = []
    free = 0
    for call in program:
        if call.kernel:
            launched = max(t for t in call.span if t <= call.kernel[0])
            if launched >= free and launched > 0:
                delays.append(call.kernel[0] - launched)
            free = call.kernel[1]
    delay = median_low(delays) if delays else 0
    host, host_new, free, free_new = 0, 0, 0, 0
    ends: list[tuple[int, int]] = []
    for call in program:
        start, end = call.span
        start_new = host_new + start - host
        end_new = start_new + end - start
        done = [e for e in ends if start < e[0] <= end]
        if call.name == "sync" and done:
            recorded, now = done[-1]
            end_new = max(start_new, now) + end - recorded
        if call.kernel:
            begin, finish = call.kernel
            at, at_new = (end, end_new) if end <= begin else (start, start_new)
            lag = min(delay, begin - at)
            own = begin - max(at + lag, free)
            begin_new = max(at_new + lag, free_new) + own
            free, free_new = finish, begin_new + round((finish - begin) / faster)
            ends.append((free, free_new))
        host, host_new = end, end_new
    return max(host_new + 1, free_new)


@on_random_traces
@given(
    found=st.lists(programs(lanes=1), min_size=25, max_size=25),
    faster=st.sampled_from([1, 2, 4]),
)
def test_a_replay_call_by_call(
    query_rows: QueryRows, found: list[list[Launch]], faster: int
) -> None:
    # Durations that all can be divided by.
    found = [stretched(program) for program in found]
    parameters = {"kernels": "all", "faster": faster}
    rows = query_rows("whatif.kernel", as_tables(found), parameters=parameters)
    by_process = {row["process_id"]: row for row in rows}
    for process, program in enumerate(found):
        if not any(call.kernel for call in program):
            continue
        row = by_process[process]
        assert row["replayed_ns"] == row["step_ns"] == replayed(program, 1)
        assert row["predicted_ns"] == replayed(program, faster)


def stretched(program: list[Launch]) -> list[Launch]:
    def times(span: tuple[int, int] | None) -> tuple[int, int] | None:
        return None if span is None else (4 * span[0], 4 * span[1])

    return [
        Launch(c.thread, times(c.span) or c.span, c.name, c.stream, times(c.kernel))
        for c in program
    ]


def test_a_run_without_work_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("whatif.kernel") == []
