"""ranks.balance: the parts of each rank add up to the window of all."""

from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import QueryRows
from tests.support.tables import table
from tests.support.traces import Trace, many, on_random_traces, tables, trace_of, work

HEAD = "device_id, name, start_ns, end_ns\n"


def test_parts_of_the_common_window(query_rows: QueryRows) -> None:
    copy = "device_id, start_ns, end_ns\n1, 90, 100"
    rows = query_rows(
        "ranks.balance",
        kernel=HEAD + "0, gemm, 0, 60\n0, ncclDevKernel_AllReduce, 50, 80",
        ranks={
            1: {
                "kernel": HEAD + "1, gemm, 10, 30\n1, ncclDevKernel_AllReduce, 30, 80",
                "memcpy": copy,
            }
        },
    )
    for row in rows:
        del row["run_id"]
    assert rows == table("""
        rank, device_id, window_ns, compute_ns, exposed_communication_ns, graph_ns, copy_ns, idle_ns, communication_ns, kernels, compute_ratio
        0,            0,       100,         60,                       20,        0,       0,      20,               30,       2, 1.5
        1,            1,       100,         20,                       50,        0,      10,      20,               50,       2, 0.5
    """)  # noqa: E501 - a table is read across


KINDS = ("kernel", "kernel", "graph_launch", "memcpy", "memset")
busy = st.builds(Trace, work(KINDS, ("gemm", "ncclKernel")))


@on_random_traces
@given(traces=many(busy))
def test_parts_add_up(query_rows: QueryRows, traces: list[Trace]) -> None:
    rows = query_rows("ranks.balance", tables(traces))
    assert len(rows) == sum(len(trace.devices) for trace in traces)
    for row in rows:
        trace, device = trace_of(traces, row["device_id"])
        compute = trace.on(device, "kernel", name="gemm")
        talk = trace.on(device, "kernel", name="ncclKernel")
        graphs = trace.on(device, "graph_launch")
        copies = trace.on(device, "memcpy", "memset")
        assert row["compute_ns"] == len(compute)
        assert row["communication_ns"] == len(talk)
        assert row["exposed_communication_ns"] == len(talk - compute)
        assert row["graph_ns"] == len(graphs - compute - talk)
        assert row["copy_ns"] == len(copies - graphs - compute - talk)
        parts = (
            "compute_ns",
            "exposed_communication_ns",
            "graph_ns",
            "copy_ns",
            "idle_ns",
        )
        assert sum(row[part] for part in parts) == row["window_ns"]
