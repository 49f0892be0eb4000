"""compute.flops_by_kernel: operations of each kernel by counters."""

from tests.conftest import QueryRows
from tests.support.counters import DEVICE, KERNEL, MEASURED, counters, fp32
from tests.support.tables import only, table

NAME = "compute.flops_by_kernel"


def test_executions_of_a_kernel_are_summed(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, device=DEVICE, kernel=KERNEL, kernel_metric=MEASURED)
    names = [
        "kernel_name",
        "launches",
        "total_ns",
        "time_share",
        "fp32_flop",
        "tensor_operations",
        "dram_bytes",
        "fp32_utilization",
    ]
    # 1,400,600 FLOP in 2,000 ns are 7.003e11 a second, of 2.56e12.
    assert only(rows, names) == table("""
        kernel_name, launches, total_ns, time_share, fp32_flop, tensor_operations, dram_bytes, fp32_utilization
        gemm,               2,   2000.0,      0.667, 1400600.0,         4096000.0,   800000.0,            0.274
        relu,               1,   1000.0,      0.333,    1000.0,               0.0,   800000.0,              0.0
    """)  # noqa: E501 - a table is read across


def test_a_counter_that_was_not_measured_is_null(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME, device=DEVICE, kernel=KERNEL, kernel_metric=counters(*fp32(1, 1, 2, 3))
    )
    assert row["fp32_flop"] == 9.0
    assert row["fp64_flop"] is None
    assert row["tensor_operations"] is None
    assert row["dram_bytes"] is None


def test_values_that_are_means_of_launches_are_scaled(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        kernel_metric="""
            kernel_name, tool,   metric,        value, launches
            k,           nvprof, flop_count_sp,   100,        7
        """,
    )
    assert (row["launches"], row["fp32_flop"]) == (7, 700.0)
    assert row["total_ns"] is None
    assert row["fp32_utilization"] is None


def test_the_limit_counts_rows(query_rows: QueryRows) -> None:
    for limit, count in ((1, 1), (0, 2)):
        rows = query_rows(
            NAME, kernel=KERNEL, kernel_metric=MEASURED, parameters={"limit": limit}
        )
        assert len(rows) == count
