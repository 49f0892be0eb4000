"""Recorded counters of known programs: FP32 units idle while tensor cores work."""

from pathlib import Path

import pytest

from tests.support.shared import NSYS, TRACES, needs_shared
from tracekit.convert import convert
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

pytestmark = needs_shared

H200 = NSYS / "h200"
# 2 x 2048^3, and a multiplication by alpha for each result.
MATMUL_FLOP = 2 * 2048**3 + 2048**2


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    place = tmp_path_factory.mktemp("joined")
    return {
        name: convert(
            [H200 / f"{name}.sqlite", next((TRACES / "ncu").glob(f"{name}.ncu.csv*"))],
            Path(place / name),
        )
        for name in ("gemm", "resnet50")
    }


def rows(name: str, run: Run) -> list[dict[str, object]]:
    found: list[dict[str, object]] = run_module(
        load_module(name), [run]
    ).table.to_pylist()
    return found


def test_resnet50_has_idle_fp32_units_and_busy_tensor_cores(
    run_of: dict[str, Run],
) -> None:
    found = {row["pipe"]: row for row in rows("compute.pipes", run_of["resnet50"])}
    iterations = 3
    assert found["fp32"]["operations"] == iterations * 11_052_329_064
    assert found["tensor_tf32"]["operations"] == iterations * 834_205_122_560
    assert found["tensor_bf16"]["operations"] == 0
    assert found["tensor_fp16"]["operations"] is None
    (device,) = rows("compute.fp32_utilization", run_of["resnet50"])
    assert device["kernels"] == device["measured_kernels"] == 2_175
    assert device["fp32_utilization"] == found["fp32"]["utilization"]
    assert device["fp32_utilization"] == pytest.approx(0.0098, abs=5e-5)
    assert found["tensor_tf32"]["utilization"] == pytest.approx(0.1005, abs=5e-5)


def test_flop_of_matmuls(run_of: dict[str, Run]) -> None:
    found = rows("compute.flops_by_kernel", run_of["gemm"])
    by_launches = {str(row["kernel_name"]): row["fp32_flop"] for row in found}
    sgemm = next(name for name in by_launches if "sgemm" in name)
    assert by_launches[sgemm] == 4 * MATMUL_FLOP == 4 * 17_184_063_488
    (tf32,) = [row for row in found if row["tensor_operations"]]
    assert tf32["tensor_operations"] == 2 * 2 * 2048**3


def test_the_summary_shows_idle_fp32_units_beside_tensor_cores(
    run_of: dict[str, Run],
) -> None:
    summary = {
        row["metric"]: row["value"] for row in rows("tbd.summary", run_of["resnet50"])
    }
    assert summary["fp32_utilization"] == pytest.approx(0.0098, abs=5e-5)
    assert summary["tensor_utilization"] == pytest.approx(0.1005, abs=5e-5)
    found = {row["rule"]: row for row in rows("tbd.observations", run_of["resnet50"])}
    rule = found["fp32_units_idle"]
    assert rule["holds"] is True
    assert rule["finding"] == "the FP32 units idle while tensor cores work"


def test_tables_5_and_6_part_the_kernels(run_of: dict[str, Run]) -> None:
    low, high = (
        run_module(
            load_module(f"tbd.longest_{which}_fp32_kernels"),
            [run_of["resnet50"]],
            {"limit": "0"},
        ).table.to_pylist()
        for which in ("low", "high")
    )
    assert sum(row["launches"] for row in low + high) == 2_175
    assert sum(row["time_share"] for row in low + high) == pytest.approx(1)
    average = low[0]["average_utilization"]
    assert all(row["fp32_utilization"] < average for row in low)
    assert all(row["fp32_utilization"] >= average for row in high)
    assert low[0]["total_ns"] == max(row["total_ns"] for row in low)
