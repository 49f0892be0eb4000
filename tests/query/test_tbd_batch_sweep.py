"""tbd.batch_sweep: one row a run, by batch size."""

from tests.conftest import MakeRun, QueryRows
from tests.query.test_tbd_summary import API_CALL, KERNEL, STEP
from tests.support.tables import only, table
from tracekit.query import load_module, run_module

NAME = "tbd.batch_sweep"


def test_a_run_is_a_row(run_of: MakeRun) -> None:
    tables = {"step": STEP, "kernel": KERNEL, "api_call": API_CALL}
    larger = {**tables, "step": STEP.replace("32, images", "64, images")}
    runs = [run_of(tables, run_id="a"), run_of(larger, run_id="b")]
    rows = run_module(load_module(NAME), runs).table.to_pylist()
    assert only(rows, ["run_id", "batch_size", "samples_per_second", "step_ns"]) == (
        table("""
            run_id, batch_size, samples_per_second, step_ns
            a,            32.0,         32000000.0,  1000.0
            b,            64.0,         64000000.0,  1000.0
        """)
    )


def facts(batch_size: int, outcome: str) -> str:
    return f"""
        key,                 value
        workload.batch_size, {batch_size}
        workload.unit,       images
        workload.outcome,    {outcome}
    """


def test_where_the_memory_did_not_suffice_is_a_row_too(run_of: MakeRun) -> None:
    tables = {"step": STEP, "kernel": KERNEL, "api_call": API_CALL}
    runs = [
        run_of({"run_fact": facts(64, "out_of_memory")}, run_id="b"),
        run_of({**tables, "run_fact": facts(32, "done")}, run_id="a"),
        # It trained a while before.
        run_of({**tables, "run_fact": facts(48, "out_of_memory")}, run_id="c"),
    ]
    rows = run_module(load_module(NAME), runs).table.to_pylist()
    assert only(rows, ["batch_size", "outcome", "unit", "samples_per_second"]) == (
        table("""
            batch_size, outcome,       unit,   samples_per_second
            64.0,       out_of_memory, images,               NULL
            32.0,       done,          images,         32000000.0
            48.0,       out_of_memory, images,         32000000.0
        """)
    )


def test_what_was_not_recorded_is_null(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME, step="step_index, process_id, start_ns, end_ns\n0, 0, 0, 100"
    )
    assert (row["step_ns"], row["batch_size"]) == (100.0, None)
    assert row["samples_per_second"] is None
    assert row["peak_memory_bytes"] is None


def test_without_steps_there_is_no_row(query_rows: QueryRows) -> None:
    assert query_rows(NAME, kernel=KERNEL) == []
