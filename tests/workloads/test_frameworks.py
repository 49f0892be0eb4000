"""The workloads in TensorFlow, MXNet and CNTK learn, and their profilers convert.

Each needs an interpreter of its own: `.ci/full tensorflow mxnet cntk` makes them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kineto import rows
from tests.support.shared import ROOT
from tracekit.collect.workloads import workloads
from tracekit.store.run import open_run

PYTHON = os.environ.get("TRACEKIT_TEST_PYTHON", "")
FRAMEWORK = os.environ.get("TRACEKIT_TEST_FRAMEWORK", "")
NAMES = [name for name, known in workloads().items() if FRAMEWORK in known.frameworks]
STEPS = {"cntk": 15}.get(FRAMEWORK, 50)

pytestmark = pytest.mark.skipif(
    not PYTHON, reason="no TensorFlow, MXNet or CNTK: .ci/full tensorflow mxnet cntk"
)


def tracekit(folder: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tracekit", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr


def tiny(name: str) -> list[str]:
    own = ["--framework", FRAMEWORK, "--python", PYTHON]
    return [name, *own, "--preset", "tiny", "--device", "cpu"]


@pytest.mark.parametrize("name", NAMES or ["none"])
def test_one_batch_is_learnt_by_heart(name: str, tmp_path: Path) -> None:
    record = tmp_path / "r.workload.jsonl"
    options = ["--steps", str(STEPS), "--record", str(record)]
    tracekit(tmp_path, "workload", "run", *tiny(name), *options)
    *_, end = [json.loads(line) for line in record.read_text().splitlines()]
    losses = end["losses"]
    assert len(losses) == STEPS
    if name == "a3c":
        chance = "chance_of_rewarded_action"
        assert end["before"][chance] < 0.5 < end["after"][chance]
    elif name == "wgan":
        assert end["after"]["distance"] > 10 * abs(end["before"]["distance"])
        assert min(losses) < losses[0] / 2
    else:
        assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("name", NAMES or ["none"])
def test_its_own_profiler_records_the_steps(name: str, tmp_path: Path) -> None:
    words = ["collect", "--with", FRAMEWORK, "--workload", *tiny(name)]
    tracekit(tmp_path, *words, "-o", "net.run")
    steps = rows(open_run(tmp_path / "net.run"), "step")
    assert [step["step_index"] for step in steps] == [0, 1, 2]
    assert all(step["samples"] > 0 for step in steps)
    assert {step["unit"] for step in steps} == {workloads()[name].unit}
