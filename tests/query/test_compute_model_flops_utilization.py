"""compute.model_flops_utilization: FLOP from shapes over the GPU's peak."""

from tests.conftest import QueryRows
from tests.support.counters import DEVICE

NAME = "compute.model_flops_utilization"
# 2 x 100 x 100 x 64 = 1,280,000 FLOP; kernels of process 0 run 1,000 ns.
OPERATOR = """
    process_id, thread_id, name,     start_ns, end_ns, input_shapes,            input_types
    0,          0,         aten::mm,        0,     10, "[[100,100],[100,64]]", "[""{}"",""{}""]"
"""  # noqa: E501 - a table is read across
ONE_KERNEL = """
    process_id, device_id, start_ns, end_ns
    0,          0,                0,    600
    0,          0,              400,   1000
    0,          0,             3000,   4000
"""
FLOP = 2 * 100 * 100 * 64


def test_fp32_stands_against_both_peaks(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=ONE_KERNEL,
        operator=OPERATOR.format("float", "float"),
    )
    assert (row["flop"], row["kernel_busy_ns"], row["window_ns"]) == (FLOP, 2000, 4000)
    assert row["peak_flops"] == 2.56e12
    assert row["tensor_peak_flops"] == 2.048e13
    assert row["model_flops_utilization"] == round(FLOP / 2e-6 / 2.56e12, 3) == 0.25
    assert row["model_flops_utilization_of_window"] == 0.125
    assert row["tensor_model_flops_utilization"] == round(0.25 / 8, 3)
    assert (row["precision"], row["precision_source"]) == ("fp32", "recorded")
    assert row["devices"] == "[0]"


def test_half_precision_stands_against_tensor_cores(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=ONE_KERNEL,
        operator=OPERATOR.format("c10::BFloat16", "c10::BFloat16"),
    )
    assert (row["precision"], row["peak_flops"]) == ("bf16", 4.096e13)
    assert row["tensor_peak_flops"] is None


def test_nvtx_ranges_are_taken_as_fp32(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=ONE_KERNEL,
        annotation="""
            process_id, thread_id, kind,     start_ns, end_ns, text
            0,          0,         push_pop,        0,     10, "aten::mm, op_id = 1, sizes = [[100, 100], [100, 64]]"
        """,  # noqa: E501 - a table is read across
    )
    assert (row["flop"], row["precision"]) == (FLOP, "fp32")
    assert row["precision_source"] == "assumed"


def test_the_peak_can_be_given(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        kernel=ONE_KERNEL,
        operator=OPERATOR.format("float", "float"),
        parameters={"peak_flops": 1.28e12},
    )
    assert row["model_flops_utilization"] == 0.5


def test_without_a_peak_there_is_a_reason(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME, kernel=ONE_KERNEL, operator=OPERATOR.format("float", "float")
    )
    assert row["model_flops_utilization"] is None
    assert row["reason"] == "no peak: the compute capability is not recorded"


def test_a_process_of_two_gpus_has_their_time_and_peaks(query_rows: QueryRows) -> None:
    second = "0, 1, 0, 2000"
    (row,) = query_rows(
        NAME,
        device=DEVICE + DEVICE.strip().splitlines()[1].replace("0,", "1,", 1),
        kernel=ONE_KERNEL + second,
        operator=OPERATOR.format("float", "float"),
    )
    assert (row["devices"], row["kernel_busy_ns"]) == ("[0,1]", 4000)
    assert row["model_flops_utilization"] == 0.125


def test_another_process_has_no_part_in_it(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=ONE_KERNEL.replace("0,          0,", "7,          0,"),
        operator=OPERATOR.format("float", "float"),
    )
    assert row["model_flops_utilization"] is None
    assert row["reason"] == "no kernel of its process is recorded"


def test_without_shapes_flop_is_null(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=ONE_KERNEL,
        operator="""
            process_id, thread_id, name,     start_ns, end_ns
            0,          0,         aten::mm,        0,     10
        """,
    )
    assert (row["flop"], row["uncounted"]) == (None, 1)
    assert row["reason"] == "no shapes that tell the FLOP are recorded"
