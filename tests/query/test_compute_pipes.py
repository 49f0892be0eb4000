"""compute.pipes: what each kind of arithmetic unit did."""

from tests.conftest import QueryRows
from tests.support.counters import DEVICE, KERNEL, MEASURED, counters
from tests.support.tables import only, table

NAME = "compute.pipes"


def test_fp32_units_idle_while_tensor_cores_work(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, device=DEVICE, kernel=KERNEL, kernel_metric=MEASURED)
    names = ["pipe", "measured_kernels", "active_kernels", "operations", "active_share"]
    assert only(rows[:1] + rows[5:6], names) == table("""
        pipe,        measured_kernels, active_kernels, operations, active_share
        fp32,                       3,              3,  1401600.0,          1.0
        tensor_tf32,                3,              2,  4096000.0,        0.667
    """)
    # 4,096,000 operations in 2,500 ns are 1.6384e12 a second, of 2.048e13.
    assert rows[5]["operations_per_second"] == 1.6384e12
    assert rows[5]["peak"] == 2.048e13
    assert rows[5]["utilization"] == 0.08


def test_a_pipe_that_was_not_measured_is_null_with_a_reason(
    query_rows: QueryRows,
) -> None:
    rows = query_rows(NAME, device=DEVICE, kernel=KERNEL, kernel_metric=MEASURED)
    (fp8,) = [row for row in rows if row["pipe"] == "tensor_fp8"]
    assert fp8["operations"] is None
    assert fp8["active_kernels"] is None
    assert fp8["utilization"] is None
    assert fp8["reason"] == "its counter was not measured"


def test_a_pipe_that_did_nothing_is_0(query_rows: QueryRows) -> None:
    rows = query_rows(
        NAME, device=DEVICE, kernel=KERNEL, kernel_metric=counters((0, "tf32", 0))
    )
    (tf32,) = [row for row in rows if row["pipe"] == "tensor_tf32"]
    assert only([tf32], ["active_kernels", "operations", "utilization"]) == table("""
        active_kernels, operations, utilization
                     0,        0.0,         0.0
    """)


def test_parts_of_a_tensor_counter_add_up_unless_the_total_is_there(
    query_rows: QueryRows,
) -> None:
    part = "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_{}.sum"
    total = "sm__ops_path_tensor_src_bf16_dst_fp32.sum"
    rows = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters(
            (0, part.format("on"), 30),
            (0, part.format("off"), 12),
            (0, total, 5),
            (0, part.format("off").replace("fp16", "bf16"), 5),
            (0, "sm__ops_path_tensor_src_int8.sum", 9),
        ),
    )
    found = {row["pipe"]: row["operations"] for row in rows}
    assert found["tensor_fp16"] == 42.0
    assert found["tensor_bf16"] == 5.0
    assert found["tensor_int8"] == 9.0


def test_half_and_double_precision_instructions(query_rows: QueryRows) -> None:
    op = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
    rows = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters(
            *[(0, op.format(name), 10) for name in ("hadd", "hmul", "hfma")],
            *[(0, op.format(name), 1) for name in ("dadd", "dmul", "dfma")],
        ),
    )
    found = {row["pipe"]: row["operations"] for row in rows}
    assert (found["fp16"], found["fp64"], found["fp32"]) == (40.0, 4.0, None)


def test_without_counters_there_are_no_rows(query_rows: QueryRows) -> None:
    assert query_rows(NAME, device=DEVICE, kernel=KERNEL) == []
