"""kernels.hotspots: sums and statistics per name."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

KERNELS = """
    device_id, process_id, name,  canonical_name, short_name, start_ns, end_ns
    0,         0,          gemm1, gemm<1>,        gemm,             10,    100
    0,         0,          relu,  relu<1>,        relu,            110,    120
    0,         0,          gemm2, gemm<2>,        gemm,            130,    200
    0,         0,          gemm1, gemm<1>,        gemm,            210,    230
"""


def test_executions_of_one_kernel_are_summed(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.hotspots", kernel=KERNELS)
    assert rows == table("""
        kernel_name, launches, total_ns, time_share, mean_ns, median_ns, min_ns, max_ns, stddev_ns
        gemm1,              2,      110,      0.579,    55.0,      55.0,     20,     90,    49.497
        gemm2,              1,       70,      0.368,    70.0,      70.0,     70,     70,       0.0
        relu,               1,       10,      0.053,    10.0,      10.0,     10,     10,       0.0
    """)  # noqa: E501 - a table is read across


def test_short_names_take_kinds_together(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.hotspots", parameters={"names": "short"}, kernel=KERNELS)
    assert only(rows, ["kernel_name", "launches", "total_ns", "median_ns"]) == table("""
        kernel_name, launches, total_ns, median_ns
        gemm,               3,      180,      70.0
        relu,               1,       10,      10.0
    """)


def test_canonical_names_tell_kinds_apart(query_rows: QueryRows) -> None:
    rows = query_rows(
        "kernels.hotspots", parameters={"names": "canonical"}, kernel=KERNELS
    )
    assert [row["kernel_name"] for row in rows] == ["gemm<1>", "gemm<2>", "relu<1>"]


def test_shares_are_of_all_kernels_whatever_the_limit(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.hotspots", parameters={"limit": 1}, kernel=KERNELS)
    assert [(row["kernel_name"], row["time_share"]) for row in rows] == [
        ("gemm1", 0.579)
    ]


def test_limit_0_is_no_limit(query_rows: QueryRows) -> None:
    many = "\n".join(f"0, 0, k{n}, k, k, {n}, {n + 1}" for n in range(30))
    kernel = KERNELS.strip().splitlines()[0] + "\n" + many
    assert len(query_rows("kernels.hotspots", kernel=kernel)) == 20
    rows = query_rows("kernels.hotspots", parameters={"limit": 0}, kernel=kernel)
    assert len(rows) == 30


def test_a_window_takes_kernels_that_start_inside_whole(query_rows: QueryRows) -> None:
    rows = query_rows("kernels.hotspots", window="100:210", kernel=KERNELS)
    assert only(rows, ["kernel_name", "total_ns"]) == table("""
        kernel_name, total_ns
        gemm2,             70
        relu,              10
    """)


def test_a_range_takes_what_was_launched_inside(query_rows: QueryRows) -> None:
    rows = query_rows(
        "kernels.hotspots",
        window="range:step",
        kernel="""
            device_id, process_id, correlation_id, name, start_ns, end_ns
            0,         0,          1,              late,      500,    600
            0,         0,          2,              early,      10,     20
            0,         1,          1,              other,     500,    600
        """,
        api_call="""
            process_id, thread_id, correlation_id, name,             start_ns, end_ns
            0,          0,         1,              cudaLaunchKernel,       15,     18
            0,          0,         2,              cudaLaunchKernel,        5,      8
            1,          0,         1,              cudaLaunchKernel,       15,     18
        """,
        annotation="""
            process_id, thread_id, kind,     text, start_ns, end_ns
            0,          0,         push_pop, step,       10,     20
        """,
    )
    assert [row["kernel_name"] for row in rows] == ["late"]
