"""The workloads' tiny presets under their frameworks' own profilers, for real.

`.ci/full` names the interpreter that has the framework; PyTorch may be in this one.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Ran
from tests.support.rows import rows_of_run
from tracekit.store.run import open_run

Collect = Callable[..., Ran]

PYTHON = os.environ.get("TRACEKIT_TEST_PYTHON", sys.executable)
HAS_TORCH = importlib.util.find_spec("torch") is not None
FRAMEWORK = os.environ.get("TRACEKIT_TEST_FRAMEWORK", "torch" if HAS_TORCH else "")

pytestmark = [
    pytest.mark.skipif(
        not FRAMEWORK,
        reason="needs a framework: .ci/full torch, tensorflow, mxnet, cntk",
    ),
    pytest.mark.usefixtures("gpu_machine"),
]


def trained(collect: Collect, *options: str) -> Ran:
    return collect(
        *("--with", FRAMEWORK, "--workload", "resnet50", "--framework", FRAMEWORK),
        *("--python", PYTHON, "--preset", "tiny", "--device", "cpu", "-o", "net.run"),
        *options,
    )


def test_a_workload_is_recorded_and_converted(collect: Collect, tmp_path: Path) -> None:
    done = trained(collect)
    assert done.status == 0, done.err
    run = open_run(tmp_path / "net.run")
    assert len(rows_of_run(run, "step")) == 3
    if FRAMEWORK != "cntk":
        # A step of ResNet-50 has 53 convolutions forward alone.
        assert run.manifest.rows("operator") > 3 * 53
    assert run.manifest.rows("annotation") >= 3


@pytest.mark.skipif(FRAMEWORK == "tensorflow", reason="its loop calls no Python")
def test_a_step_is_recorded_alone(collect: Collect, tmp_path: Path) -> None:
    assert trained(collect).status == 0
    whole = open_run(tmp_path / "net.run").manifest
    done = trained(collect, "--range", "steps:1:2", "--force")
    assert done.status == 0, done.err
    part = open_run(tmp_path / "net.run").manifest
    table = "annotation" if FRAMEWORK == "cntk" else "operator"
    assert 0 < part.rows(table) < 0.6 * whole.rows(table)
