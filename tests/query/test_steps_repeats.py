"""`steps.repeats`: sums of parts, their mean a step and how they vary."""

from tests.conftest import QueryRows

STEPS = """
    step_index, process_id, name, start_ns, end_ns, source
    0,          0,          it,          0,    100, annotation
    1,          0,          it,        100,    200, annotation
"""
KERNELS = """
    process_id, device_id, correlation_id, start_ns, end_ns, canonical_name, grid_x
    0,          0,         1,                    10,     20, gemm,           1
    0,          0,         2,                   105,    119, gemm,           1
    0,          0,         3,                   130,    160, gemm,           2
    0,          0,         4,                   250,    260, relu,           1
"""
CALLS = """
    process_id, thread_id, correlation_id, start_ns, end_ns, name
    0,          1,         2,                    95,     99, cudaLaunchKernel
"""


def test_a_part_counts_in_the_step_that_launched_it(query_rows: QueryRows) -> None:
    rows = query_rows("steps.repeats", step=STEPS, kernel=KERNELS, api_call=CALLS)
    gemm, relu = rows
    # The kernel at 105 was launched at 95: steps have 10 + 14 and 30 ns.
    assert gemm["instances"] == 3
    assert gemm["total_ns"] == 54
    assert gemm["steps"] == 2
    assert gemm["step_instances"] == 1.5
    assert gemm["step_mean_ns"] == 27
    # |24 - 30| / sqrt(2) and |2 - 1| / sqrt(2).
    assert gemm["step_stddev_ns"] == 4.243
    assert gemm["step_instances_stddev"] == 0.707
    # Grid 1: 10 and 14, variance 8, twice; grid 2 has one launch.
    assert gemm["spread_ns"] == 4.0
    # After the last step: in none of them.
    assert (relu["instances"], relu["step_instances"]) == (1, 0)


def test_without_steps_their_columns_are_null(query_rows: QueryRows) -> None:
    (gemm, relu) = query_rows("steps.repeats", kernel=KERNELS)
    assert gemm["total_ns"] == 54
    assert relu["total_ns"] == 10
    for name in ("step_instances", "step_mean_ns", "step_stddev_ns"):
        assert gemm[name] is None


def test_ranges_lose_their_numbers_and_those_that_mark_steps_are_left_out(
    query_rows: QueryRows,
) -> None:
    rows = query_rows(
        "steps.repeats",
        step=STEPS,
        annotation="""
            process_id, thread_id, kind,     text,                    start_ns, end_ns
            0,          1,         push_pop, it,                             0,    100
            0,          1,         push_pop, "aten::to, op_id = 12",         1,      5
            0,          1,         push_pop, "aten::to, seq = 7",            6,      8
        """,
    )
    assert [(r["kind"], r["part_name"], r["total_ns"]) for r in rows] == [
        ("range", ":aten::to", 6)
    ]


def test_operators_and_copies_are_parts(query_rows: QueryRows) -> None:
    rows = query_rows(
        "steps.repeats",
        operator="""
            process_id, thread_id, name,      start_ns, end_ns
            0,          1,         aten::mul,        0,     50
        """,
        memcpy="""
            process_id, device_id, start_ns, end_ns, copy_kind, bytes
            0,          0,                0,      9, HtoD,         4
        """,
    )
    assert [(r["kind"], r["part_name"], r["total_ns"]) for r in rows] == [
        ("operator", "aten::mul", 50),
        ("copy", "HtoD", 9),
    ]
