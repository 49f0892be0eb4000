"""critical_path.summary: the pieces of the path, added up."""

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
from tests.support.tables import only, table
from tests.support.traces import on_random_traces

TABLES = {
    "kernel": WORK + "0, 0, 7, a, 15, 50, 1\n0, 0, 7, b, 52, 95, 2",
    "api_call": CALL
    + "0, 0, cudaLaunchKernel, 5, 10, 1\n0, 0, cudaLaunchKernel, 10, 20, 2\n"
    "0, 0, cudaDeviceSynchronize, 20, 100, 3",
    "step": STEP + "4, 0, 0, 110",
}
COLUMNS = ("bound_by", "kind", "name", "pieces", "total_ns", "length_ns", "share")


def test_kinds_add_up_to_the_step(query_rows: QueryRows) -> None:
    rows = query_rows("critical_path.summary", TABLES)
    assert only(rows, COLUMNS) == table("""
        bound_by,     kind,    name, pieces, total_ns, length_ns, share
        gpu_compute,  running, NULL,      2,       78,       110, 0.709
        host,         host,    NULL,      2,       15,       110, 0.136
        host,         call,    NULL,      1,        5,       110, 0.045
        host,         return,  NULL,      1,        5,       110, 0.045
        launch_delay, launch,  NULL,      1,        5,       110, 0.045
        gpu_delay,    stream,  NULL,      1,        2,       110, 0.018
    """)


def test_names_tell_the_kernels(query_rows: QueryRows) -> None:
    by = {"by": "name"}
    rows = query_rows("critical_path.summary", TABLES, parameters=by)
    running = [row for row in rows if row["kind"] == "running"]
    assert [(row["name"], row["total_ns"]) for row in running] == [("b", 43), ("a", 35)]


def test_loading_data_is_a_part_of_the_host(query_rows: QueryRows) -> None:
    ranges = """
        process_id, thread_id, kind,     text,        start_ns, end_ns
        0,          0,         push_pop, load_batch,         1,      4
        0,          0,         push_pop, data_loader,        2,      6
        0,          1,         push_pop, load_batch,        60,     70
        0,          0,         push_pop, forward,            0,     50
    """
    rows = query_rows("critical_path.summary", TABLES, annotation=ranges)
    found = {(row["bound_by"], row["kind"]): row["total_ns"] for row in rows}
    # The last range is beside the path, which is on the GPU then.
    assert found["data_loading", "host"] == 5
    assert found["host", "host"] == 11
    assert found["host", "call"] == 4
    assert sum(found.values()) == 110


@on_random_traces
@given(found=st.lists(programs(), min_size=25, max_size=25))
def test_parts_add_up(query_rows: QueryRows, found: list[list[Launch]]) -> None:
    tables = as_tables(found)
    rows = query_rows("critical_path.summary", tables)
    pieces = query_rows("critical_path.trace", tables)
    for process in range(len(found)):
        mine = [row for row in rows if row["process_id"] == process]
        for row in mine:
            same = [
                piece["duration_ns"]
                for piece in pieces
                if piece["process_id"] == process
                and (piece["bound_by"], piece["kind"]) == (row["bound_by"], row["kind"])
            ]
            assert (row["pieces"], row["total_ns"]) == (len(same), sum(same))
        assert {row["length_ns"] for row in mine} <= {sum(r["total_ns"] for r in mine)}
