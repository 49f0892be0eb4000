"""Numbers that the catalogue must show of known captures, each in plain sight."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Converted
from tests.conftest import QueryRows
from tests.support.kineto import PUBLIC
from tests.support.shared import NSYS, TRACES, needs_shared
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

pytestmark = needs_shared

MATMUL = 2 * 2048**3
ELEMENTS = 2**24


def ask(name: str, run: Run, **parameters: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_module(
        load_module(name), [run], parameters
    ).table.to_pylist()
    return found


def public(pattern: str) -> Path:
    return next(PUBLIC.glob(pattern), Path(pattern))


def test_communication_of_a_job_with_nccl(converted: Converted) -> None:
    (row,) = ask("overlap.comm_compute", converted(public("hta__nccl_parser*.gz")))
    assert row["communication_ns"] == 46_876_493
    assert row["overlapped_ns"] == 7_317_025
    assert row["exposed_ns"] == 46_876_493 - 7_317_025


@pytest.mark.parametrize(
    ("pattern", "busy_ns"),
    [("tracelens__b200__eager*.gz", 11_596_482), ("tracelens__h100__*.gz", 309_437)],
)
def test_busy_time_where_kernels_of_a_stream_cross(
    pattern: str, busy_ns: int, converted: Converted
) -> None:
    (row,) = ask("gpu.utilization", converted(public(pattern)))
    assert row["gpu_busy_ns"] == busy_ns
    (row,) = ask("gpu.idle_attribution", converted(public(pattern)))
    parts = ("copy", "capture_artifact", "synchronization", "launch_in_flight")
    others = ("host_late", "dependency", "unknown")
    idle_ns = sum(row[f"{part}_ns"] for part in parts[1:] + others)
    assert idle_ns == row["window_ns"] - busy_ns


def test_flop_of_the_gemm_program_by_counters(converted: Converted) -> None:
    run = converted(NSYS / "h200" / "gemm.sqlite", TRACES / "ncu" / "gemm.ncu.csv")
    rows = ask("compute.flops_by_kernel", run, limit="0")
    flop = {row["kernel_name"]: row["fp32_flop"] for row in rows}

    def of(part: str) -> int:
        (found,) = {int(n) for name, n in flop.items() if part in name}
        return found

    # A multiplication by alpha for each result.
    assert of("sgemm") == 4 * (MATMUL + 2048**2)
    # One FFMA an element, and one FMUL.
    assert of("CUDAFunctorOnSelf_add") == 4 * 2 * ELEMENTS == 4 * 33_554_432
    assert of("MulFunctor") == 4 * ELEMENTS == 4 * 16_777_216
    (tensor,) = (row for row in rows if row["tensor_operations"])
    assert tensor["tensor_operations"] == 2 * MATMUL == 2 * 17_179_869_184


def test_flop_of_the_gemm_program_by_shapes(query_rows: QueryRows) -> None:
    sizes = '"[[2048,2048],[2048,2048]]"'
    operators = (
        "operator_id, process_id, thread_id, name, start_ns, end_ns, input_shapes"
    )
    for number in range(6):
        start = 10 * number
        operators += f"\n{number}, 0, 0, aten::mm, {start}, {start + 5}, {sizes}"
    (row,) = query_rows("compute.flops_by_operator", operator=operators)
    assert row["calls"] == 6
    assert row["flop"] == 6 * MATMUL == 6 * 17_179_869_184


def test_resnet50_by_shapes_and_by_counters(converted: Converted) -> None:
    iterations = 3
    sqlite = NSYS / "h200" / "resnet50.sqlite"
    run = converted(sqlite, TRACES / "ncu" / "resnet50.ncu.csv.gz")
    pipes = {row["pipe"]: row["operations"] for row in ask("compute.pipes", run)}
    assert pipes["fp32"] == iterations * 11_052_329_064
    assert pipes["tensor_tf32"] == iterations * 834_205_122_560
    shapes = converted(NSYS / "h200" / "resnet50_shapes.sqlite")
    (model,) = ask("compute.model_flops_utilization", shapes)
    assert model["flop"] == 2 * 777_570_484_224
    assert "fp32_units_idle" in {
        row["rule"] for row in ask("tbd.observations", run) if row["holds"]
    }
