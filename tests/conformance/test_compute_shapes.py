"""FLOP from shapes against PyTorch's FlopCounterMode; occupancy against ncu's."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Converted
from tests.support.rows import rows_of_run
from tests.support.shared import NSYS, TRACES, needs_shared
from tracekit.convert import convert
from tracekit.query import load_module, run_module
from tracekit.store.run import Run

pytestmark = needs_shared

H200 = NSYS / "h200"
KINETO = TRACES / "kineto" / "h200"
ITERATIONS = 2


def ask(name: str, run: Run, **parameters: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_module(
        load_module(name), [run], parameters
    ).table.to_pylist()
    return found


@pytest.mark.parametrize(
    ("capture", "oracle"),
    [
        (KINETO / "resnet50.kineto.json.gz", "resnet50"),
        (H200 / "resnet50_shapes.sqlite", "resnet50"),
        (KINETO / "seq2seq.kineto.json.gz", "seq2seq"),
    ],
)
def test_flop_equal_those_of_the_flop_counter(
    capture: Path, oracle: str, converted: Converted
) -> None:
    (file,) = (TRACES / "torch").glob(f"{oracle}*.flops.json")
    expected = json.loads(file.read_text())
    rows = ask("compute.flops_by_operator", converted(capture), limit="0")
    found: dict[str, float] = defaultdict(float)
    for row in rows:
        # FlopCounterMode leaves cuDNN's recurrent layers out.
        if row["flop"] is not None and not row["category"].startswith("rnn"):
            found[row["operator_name"].replace("::", ".")] += row["flop"]
    assert found == {k: ITERATIONS * v for k, v in expected["by_op"].items()}
    assert sum(found.values()) == ITERATIONS * expected["total"]


@pytest.mark.parametrize(
    "capture",
    [KINETO / "resnet50.kineto.json.gz", H200 / "resnet50_shapes.sqlite"],
)
def test_model_flops_utilization_of_resnet50(
    capture: Path, converted: Converted
) -> None:
    (row,) = ask("compute.model_flops_utilization", converted(capture))
    assert row["flop"] == ITERATIONS * 777_570_484_224
    assert row["model_flops_utilization"] == pytest.approx(0.69, abs=0.005)
    assert row["tensor_model_flops_utilization"] == pytest.approx(0.094, abs=5e-4)


def test_theoretical_occupancy_is_that_of_nsight_compute(tmp_path: Path) -> None:
    run = convert(
        [H200 / "resnet50.sqlite", TRACES / "ncu" / "resnet50.ncu.csv.gz"],
        tmp_path / "run",
    )
    metrics: dict[int, dict[str, float]] = defaultdict(dict)
    for row in rows_of_run(run, "kernel_metric"):
        metrics[row["kernel_id"]][row["metric"]] = row["value"]
    measured: dict[tuple[Any, ...], set[tuple[float, ...]]] = defaultdict(set)
    for kernel in rows_of_run(run, "kernel"):
        found = metrics[kernel["kernel_id"]]
        key = (
            kernel["name"],
            kernel["block_x"] * kernel["block_y"] * kernel["block_z"],
            kernel["registers_per_thread"],
            kernel["static_shared_bytes"] + kernel["dynamic_shared_bytes"],
        )
        measured[key].add(
            tuple(
                found[f"launch__occupancy_limit_{limit}"]
                for limit in ("warps", "blocks", "registers", "shared_mem")
            )
        )
    compared = 0
    for row in ask("compute.occupancy", run, limit="0"):
        key = (
            row["kernel_name"],
            row["block_threads"],
            row["registers_per_thread"],
            row["shared_bytes"],
        )
        limits = tuple(
            float(row[f"limit_{limit}"])
            for limit in ("warps", "blocks", "registers", "shared")
        )
        assert limits in measured[key], key
        compared += 1
    assert compared > 50
