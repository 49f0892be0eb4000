"""compute.fp32_utilization: FADD + FMUL + 2 FFMA over peak x kernel_busy."""

import pytest

from tests.conftest import MakeRun, QueryRows
from tests.support.counters import (
    DEVICE,
    KERNEL,
    MEASURED,
    UNMATCHED,
    counters,
    fp32,
)
from tests.support.tables import only, table
from tracekit.query import load_module, run_module

NAME = "compute.fp32_utilization"
FLOP = 2 * 700_300 + 1_000
BUSY_NS = 2_500
PEAK = 2.56e12


def test_overlapping_kernels_share_their_time(query_rows: QueryRows) -> None:
    (row,) = query_rows(NAME, device=DEVICE, kernel=KERNEL, kernel_metric=MEASURED)
    assert row["fp32_flop"] == FLOP
    assert row["kernel_busy_ns"] == BUSY_NS
    assert row["fp32_utilization"] == round(FLOP / 2.5e-6 / PEAK, 3) == 0.219
    assert (row["kernels"], row["measured_kernels"]) == (3, 3)
    assert row["reason"] is None


def test_kernels_without_counters_are_left_out_of_the_time(
    query_rows: QueryRows,
) -> None:
    (row,) = query_rows(
        NAME, device=DEVICE, kernel=KERNEL, kernel_metric=counters(*fp32(0, 8, 0, 0))
    )
    assert only([row], ["kernels", "measured_kernels", "measured_share"]) == table("""
        kernels, measured_kernels, measured_share
              3,                1,          0.333
    """)
    assert (row["fp32_flop"], row["kernel_busy_ns"]) == (8.0, 1000)


def test_a_counter_that_lacks_is_no_0(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters((0, "fadd", 8), (0, "fmul", 8)),
    )
    assert row["fp32_flop"] is None
    assert row["fp32_utilization"] is None
    assert row["measured_kernels"] == 0
    assert "FFMA" in row["reason"]
    assert "tracekit collect --counters" in row["reason"]


def test_instructions_on_two_operands_count_twice(query_rows: QueryRows) -> None:
    packed = [(0, "fadd2", 10), (0, "fmul2", 100), (0, "ffma2", 1000)]
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters(*fp32(0, 1, 2, 3), *packed),
    )
    assert row["fp32_flop"] == 1 + 2 + 2 * 3 + 2 * (10 + 100 + 2 * 1000)
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters(*fp32(0, 1, 2, 3), *packed[:2]),
    )
    assert row["fp32_flop"] is None


def test_tensor_cores_are_no_fp32_work(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters(*fp32(0, 0, 0, 0), (0, "tf32", 1e9)),
    )
    assert row["fp32_utilization"] == 0.0


def test_without_a_peak_the_reason_is_told(query_rows: QueryRows) -> None:
    device = "device_id, compute_capability, sm_count\n 0, 9.9, 10"
    (row,) = query_rows(NAME, device=device, kernel=KERNEL, kernel_metric=MEASURED)
    assert row["fp32_flop"] == FLOP
    assert row["fp32_utilization"] is None
    assert "clock" in row["reason"]


def test_a_peak_can_be_given(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        kernel=KERNEL,
        kernel_metric=MEASURED,
        parameters={"peak_flops": FLOP / 2.5e-6 * 2},
    )
    assert row["fp32_utilization"] == 0.5
    assert row["peak_derivation"] == "given"


def test_the_sampled_clock_gives_a_second_utilization(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=MEASURED,
        counter_sample="""
            source, device_id, time_ns, metric,              unit, value
            gpu,    0,              10, GPC Clock Frequency, Hz,   400000000
            gpu,    0,              20, GPC Clock Frequency, Hz,   600000000
            gpu,    0,              20, SM Active,           %,    60
        """,
    )
    assert row["mean_clock_hz"] == 5e8
    assert row["fp32_utilization_at_mean_clock"] == round(FLOP / 2.5e-6 / (PEAK / 2), 3)


def test_counters_alone_use_the_durations_of_the_counter_tool(
    query_rows: QueryRows,
) -> None:
    launches = counters(*fp32(0, 100, 0, 0), (0, "time", 500))
    alone = launches.replace("\n0, 0,", "\n, 0,")
    (row,) = query_rows(NAME, device=DEVICE, kernel_metric=alone)
    assert (row["kernels"], row["kernel_busy_ns"], row["fp32_flop"]) == (1, 500, 100.0)


def test_counters_that_match_no_kernel_of_the_timeline_do_not_count(
    query_rows: QueryRows,
) -> None:
    assert query_rows(NAME, device=DEVICE, kernel=KERNEL, kernel_metric=UNMATCHED) == []


def test_a_window_takes_the_kernels_that_start_in_it(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=MEASURED,
        window="1000:3000",
    )
    assert (row["kernels"], row["fp32_flop"], row["kernel_busy_ns"]) == (
        1,
        700_300.0,
        1000,
    )


def test_nvprof_counts_flop_by_itself(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters((0, "flop_count_sp", 77)),
    )
    assert row["fp32_flop"] == 77.0


def test_a_run_without_counters_says_so(run_of: MakeRun) -> None:
    run = run_of({"kernel": KERNEL})
    answer = run_module(load_module(NAME), [run])
    assert answer.table.num_rows == 0
    assert "kernel_metric" in answer.reasons[0]


@pytest.mark.parametrize("rows", [0, 1])
def test_a_kernel_without_length_divides_by_nothing(
    query_rows: QueryRows, rows: int
) -> None:
    kernel = "kernel_id, device_id, name, start_ns, end_ns\n" + "0, 0, k, 5, 5\n" * rows
    found = query_rows(
        NAME, device=DEVICE, kernel=kernel, kernel_metric=counters(*fp32(0, 1, 0, 0))
    )
    assert [row["fp32_utilization"] for row in found] == [None] * rows
