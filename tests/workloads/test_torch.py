"""The workloads in PyTorch learn. Needs PyTorch: `.ci/full torch`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared import ROOT
from tracekit.collect.workloads import workloads

torch = pytest.importorskip("torch", reason="PyTorch is not installed: .ci/full torch")

FOLDER = ROOT / "workloads"
NAMES = [name for name, known in workloads().items() if "torch" in known.frameworks]
# What torchvision and the papers' authors count, by hand for the others.
PARAMETERS = {
    "resnet50": 25_557_032,
    "inception3": 27_161_264,
    "bert": 336_226_108,
}
STEPS = 50


def trained(name: str, folder: Path, *options: str) -> dict[str, Any]:
    """Train in a process of its own; return the steps and the end of the record."""
    record = folder / f"{name}.workload.jsonl"
    words = [sys.executable, str(FOLDER / "run.py"), name, "--preset", "tiny"]
    done = subprocess.run(
        [*words, "--device", "cpu", "--record", str(record), *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    first, *steps, end = [json.loads(line) for line in record.read_text().splitlines()]
    return {"first": first, "steps": steps, **end}


@pytest.mark.parametrize("name", NAMES)
def test_one_batch_is_learnt_by_heart(name: str, tmp_path: Path) -> None:
    found = trained(name, tmp_path, "--steps", str(STEPS))
    losses = found["losses"]
    assert len(found["steps"]) == len(losses) == STEPS
    if name == "a3c":
        chance = "chance_of_rewarded_action"
        assert found["before"][chance] < 0.5 < found["after"][chance]
    elif name == "wgan":
        # The critic learns to tell the real image, the generator to deceive it.
        assert found["after"]["distance"] > 10 * abs(found["before"]["distance"])
        assert min(losses) < losses[0] / 2
    else:
        assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_says_everything(name: str, tmp_path: Path) -> None:
    one, same = (trained(name, tmp_path)["losses"] for _ in range(2))
    other = trained(name, tmp_path, "--seed", "2")["losses"]
    assert len(one) == 3
    assert one == same
    assert one != other


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_papers_model_has_its_parameters(name: str) -> None:
    code = f"""
import torch
from options import parse
from with_torch import {name} as module
sizes = parse([{name!r}]).sizes
with torch.device("meta"):
    made = {{
        "resnet50": lambda: module.Classifier(sizes["width"], sizes["classes"]),
        "inception3": lambda: module.Inception(sizes),
        "bert": lambda: module.Bert(sizes),
    }}[{name!r}]()
print(sum(weights.numel() for weights in made.parameters()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == PARAMETERS[name]


def test_samples_are_counted_in_the_unit(tmp_path: Path) -> None:
    # 2 clips of 40 spectra of 10 ms; 4 sentences of 8 words; 4 games of 2 moves.
    expected = {"deepspeech2": 0.8, "transformer": 32, "a3c": 8, "bert": 32}
    for name, samples in expected.items():
        found = trained(name, tmp_path)
        assert [step["samples"] for step in found["steps"]] == [samples] * 3


@pytest.mark.parametrize("precision", ["fp16", "bf16", "tf32"])
def test_precisions_are_taken(precision: str, tmp_path: Path) -> None:
    found = trained("transformer", tmp_path, "--precision", precision)
    assert found["first"]["precision"] == precision
    assert found["first"]["tf32_cudnn"] is (precision == "tf32")


def test_an_unrolled_lstm_learns_too(tmp_path: Path) -> None:
    losses = trained(
        "seq2seq", tmp_path, "--steps", str(STEPS), "--set", "lstm=unrolled"
    )["losses"]
    assert losses[-1] < losses[0] / 2


def test_boxes_are_suppressed_and_aligned_as_defined() -> None:
    code = """
import torch
from with_torch import boxes
boxes.ops = None
ones = torch.tensor([[0., 0., 10., 10.], [0., 0., 10., 9.], [20., 0., 30., 10.]])
assert torch.allclose(boxes.overlap(ones, ones)[0], torch.tensor([1., 0.9, 0.]))
assert boxes.kept(ones, torch.tensor([0.5, 0.9, 0.1]), 0.7).tolist() == [1, 2]
assert boxes.kept(ones, torch.tensor([0.5, 0.9, 0.1]), 0.95).tolist() == [1, 0, 2]
base = torch.tensor([[0., 0., 8., 4.]])
code = boxes.encoded(torch.tensor([[4., 2., 20., 10.]]), base, (1., 1., 1., 1.))
# The middle moves from (4, 2) to (12, 6), by its size each; the size doubles.
assert torch.allclose(code, torch.tensor([[1., 1., 2., 2.]]).log().where(
    torch.tensor([[False, False, True, True]]), torch.ones(1, 4)))
assert torch.allclose(boxes.decoded(code, base, (1., 1., 1., 1.)),
    torch.tensor([[4., 2., 20., 10.]]))
# Features that say where they are: the mean under a box is its middle.
across = torch.arange(16.).expand(1, 1, 16, 16) + 0.5
under = boxes.aligned(across, torch.tensor([[8., 8., 36., 36.]]), 0.25, 7)
assert under.shape == (1, 1, 7, 7)
assert torch.allclose(under[0, 0, 0], torch.arange(7.) + 2.5)
"""
    subprocess.run([sys.executable, "-c", code], cwd=FOLDER, check=True)


def test_memory_that_does_not_suffice_is_told(tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"
    words = [sys.executable, str(FOLDER / "run.py"), "resnet50", "--device", "cpu"]
    huge = ["--batch-size", "2000000000", "--record", str(record)]
    done = subprocess.run([*words, *huge], capture_output=True, text=True, check=False)
    assert done.returncode == 86, done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(record.read_text().splitlines()[-1])["outcome"] == "out_of_memory"
