"""The memory hook follows a training on the CPU to the byte. Needs PyTorch."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import tracekit
from tests.support.shared import ROOT
from tracekit.convert import convert

pytest.importorskip("torch", reason="PyTorch is not installed: .ci/full torch")

STEPS = 3
MLP = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(4):
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
"""
CNN = """
import torch
from torch import nn
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(8 * 8 * 8, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(4):
    x, y = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
"""
Record = Callable[[str], tracekit.Trace]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Run a program with the hook, and convert what it wrote."""
    made: dict[str, tracekit.Trace] = {}

    def recorded(program: str) -> tracekit.Trace:
        if program not in made:
            folder = tmp_path_factory.mktemp("memory")
            done = subprocess.run(
                [sys.executable, "-c", program],
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT / "collectors" / "python"),
                    "TRACEKIT_HOOKS": "torch_memory",
                    "TRACEKIT_TORCH_MEMORY": str(folder / "captures"),
                    "TRACEKIT_TORCH_MEMORY_STEPS": str(STEPS),
                },
                capture_output=True,
                text=True,
                check=True,
            )
            assert done.stderr == ""
            assert math.isfinite(float(done.stdout))
            convert([folder / "captures"], folder / "memory.run")
            made[program] = tracekit.open(folder / "memory.run")
        return made[program]

    return recorded


def sizes(trace: tracekit.Trace, memory_class: str) -> list[int]:
    """Return the sizes of the blocks of a class, smallest first."""
    rows: list[dict[str, Any]] = (
        trace.sql(
            "SELECT bytes FROM memory_block"
            f" WHERE memory_class = '{memory_class}' ORDER BY bytes"
        )
        .to_arrow()
        .to_pylist()
    )
    return [row["bytes"] for row in rows]


def floats(*elements: int) -> list[int]:
    return [4 * count for count in elements]


MLP_PARAMETERS = floats(64 * 128, 128, 128 * 10, 10)
CNN_PARAMETERS = floats(3 * 8 * 9, 8, 8 * 8 * 8 * 10, 10)


@pytest.mark.parametrize(
    ("program", "memory_class", "expected"),
    [
        (MLP, "weights", MLP_PARAMETERS),
        (MLP, "weight_gradients", STEPS * MLP_PARAMETERS),
        # Two moments of each, and a count.
        (MLP, "dynamic", 2 * MLP_PARAMETERS + floats(1, 1, 1, 1)),
        (MLP, "input", STEPS * [*floats(32 * 64), 32 * 8]),
        # The output of ReLU, the log of the softmax, the weight of the batch.
        (MLP, "feature_maps", STEPS * floats(32 * 128, 32 * 10, 1)),
        (CNN, "weights", CNN_PARAMETERS),
        (CNN, "weight_gradients", STEPS * CNN_PARAMETERS),
        (CNN, "dynamic", CNN_PARAMETERS),
        (CNN, "input", STEPS * [*floats(4 * 3 * 16 * 16), 4 * 8]),
        # ReLU, pooling and its indices of 8 bytes, softmax, weight.
        (
            CNN,
            "feature_maps",
            STEPS
            * [
                *floats(4 * 8 * 16 * 16, 4 * 8 * 8 * 8, 4 * 10, 1),
                4 * 8 * 8 * 8 * 8,
            ],
        ),
    ],
)
def test_classes_equal_arithmetic(
    record: Record, program: str, memory_class: str, expected: list[int]
) -> None:
    assert sizes(record(program), memory_class) == sorted(expected)


@pytest.mark.parametrize("program", [MLP, CNN])
def test_classes_add_up_to_the_peak(record: Record, program: str) -> None:
    rows = record(program).query("memory.breakdown").to_arrow().to_pylist()
    (peak,) = {row["peak_bytes"] for row in rows}
    assert sum(row["bytes_at_peak"] for row in rows) == peak
    unknown = sum(r["bytes_at_peak"] for r in rows if r["memory_class"] == "unknown")
    assert unknown < peak / 20


def test_feature_maps_belong_to_the_module_that_saved_them(record: Record) -> None:
    rows = (
        record(CNN)
        .sql(
            "SELECT DISTINCT layer, bytes FROM memory_block"
            " WHERE memory_class = 'feature_maps' AND layer IS NOT NULL ORDER BY ALL"
        )
        .to_arrow()
        .to_pylist()
    )
    assert [(row["layer"], row["bytes"]) for row in rows] == [
        ("1", 4 * 4 * 8 * 16 * 16),
        ("2", 8 * 4 * 8 * 8 * 8),
        ("4", 4 * 4 * 8 * 8 * 8),
    ]


def test_steps_are_those_of_the_optimizer(record: Record) -> None:
    rows = record(MLP).sql("SELECT count(*) AS steps FROM step").to_arrow().to_pylist()
    assert rows == [{"steps": STEPS}]
