"""Parts add up to the whole: queries on random traces against a count of instants."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import QueryRows
from tests.support.traces import (
    Call,
    Trace,
    Work,
    covered,
    disjoint_spans,
    spans,
    work,
)

# Each example asks a run of its own, so the fixture may serve all of them.
on_random_traces = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
calls = st.lists(
    st.builds(Call, st.integers(0, 1), st.integers(0, 1), spans), max_size=5
)


@on_random_traces
@given(
    work(
        ("kernel", "kernel", "graph_launch", "memcpy", "memset"),
        processes=2,
        devices=2,
        names=("gemm", "ncclKernel"),
    ),
    calls,
    disjoint_spans(),
)
def test_parts_of_a_step(
    query_rows: QueryRows,
    activity: list[Work],
    host: list[Call],
    steps: list[tuple[int, int]],
) -> None:
    trace = Trace(activity, host, steps)
    rows = query_rows("steps.breakdown", trace.tables(), window="all")
    devices = {w.device for w in activity if w.process == 0}
    assert len(rows) == len(steps) * max(len(devices), 1)
    layers = {
        "kernel_ns": ("kernel", "gemm"),
        "communication_ns": ("kernel", "ncclKernel"),
        "graph_ns": ("graph_launch", None),
        "copy_ns": ("memcpy", None),
        "fill_ns": ("memset", None),
    }
    for row in rows:
        left = set(range(*steps[row["step_index"]]))
        assert row["duration_ns"] == len(left)
        for column, (kind, name) in layers.items():
            mine = covered(
                w.span
                for w in activity
                if (w.process, w.device) == (0, row["device_id"])
                and w.activity == kind
                and name in (w.name, None)
            )
            assert row[column] == len(left & mine), column
            left -= mine
        api = covered(c.span for c in host if c.process == 0)
        assert row["api_ns"] == len(left & api)
        assert row["idle_ns"] == len(left - api)
