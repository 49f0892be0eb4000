"""The workloads are found, described, and turned into commands."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shared import ROOT
from tracekit.collect import workloads
from tracekit.collect.workloads import Training
from tracekit.errors import TracekitError, UsageError
from tracekit.schema import TABLES
from tracekit.tools.interpreters import FRAMEWORKS, Interpreter

FOLDER = ROOT / "workloads"
NAMES = tuple(workloads.workloads())


def options(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Parse arguments in a process of its own, as the user's interpreter does."""
    code = (
        "import json, sys; from options import parse; o = parse(sys.argv[1:]);"
        "print(json.dumps([o.framework, o.batch_size, o.steps, o.precision, o.sizes,"
        "o.profile_from, o.profile_to]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_is_written_in_the_frameworks_it_names(name: str) -> None:
    known = workloads.workload(name)
    for framework in known.frameworks:
        assert framework in FRAMEWORKS
        assert (FOLDER / f"with_{framework}" / f"{name}.py").is_file()
    written = {path.parent.name for path in FOLDER.glob(f"with_*/{name}.py")}
    assert written == {f"with_{framework}" for framework in known.frameworks}


@pytest.mark.parametrize("name", NAMES)
def test_presets_have_the_same_settings(name: str) -> None:
    presets = workloads.workload(name).presets
    full = presets["paper"]
    for settings in presets.values():
        assert settings.keys() <= full.keys()
        for setting, value in settings.items():
            assert type(value) is type(full[setting]), setting
    assert presets["tiny"]["steps"] == 3
    assert presets["tiny"].get("batches", 1) == 1


def test_units_are_those_of_the_schema() -> None:
    (column,) = [c for c in TABLES["step"].columns if c.name == "unit"]
    for known in workloads.workloads().values():
        assert known.unit in column.meaning


@pytest.mark.parametrize(
    "file", sorted(FOLDER.rglob("*.py")), ids=lambda path: str(path.relative_to(FOLDER))
)
def test_a_workload_imports_nothing_of_tracekit(file: Path) -> None:
    own = {path.stem for path in FOLDER.rglob("*") if path.suffix in (".py", "")}
    frameworks = {"torch", "torchvision", "tensorflow", "keras", "mxnet", "cntk"}
    allowed = own | frameworks | {"numpy", "nvtx"} | sys.stdlib_module_names
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] in allowed, name


def test_the_command_says_what_was_asked() -> None:
    training = Training(
        name="resnet50",
        preset="tiny",
        batch_size=8,
        steps=7,
        precision="bf16",
        device="cpu",
        seed=3,
        settings=("width=16",),
        profile="2:5",
    )
    words = workloads.command(training, Interpreter("/opt/python"), FOLDER)
    assert words[:3] == ["/opt/python", str(FOLDER / "run.py"), "resnet50"]
    parsed = options(*words[2:])
    framework, batch, steps, precision, sizes, first, last = json.loads(parsed.stdout)
    assert (framework, batch, steps, precision) == ("torch", 8, 7, "bf16")
    assert (first, last) == (2, 5)
    assert sizes["width"] == 16
    assert sizes["image_size"] == 32
    # What the preset leaves alone is the paper's.
    assert sizes["momentum"] == 0.9


def test_the_paper_is_the_default() -> None:
    parsed = options("resnet50")
    _, batch, _, precision, sizes, _, _ = json.loads(parsed.stdout)
    assert (batch, precision) == (32, "fp32")
    assert sizes["image_size"] == 224
    assert sizes["learning_rate"] == 0.1
    assert sizes["weight_decay"] == 1e-4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["resnet51"], "resnet51"),
        (["resnet50", "--preset", "huge"], "paper, tiny"),
        (["resnet50", "--framework", "caffe"], "torch"),
        (["resnet50", "--set", "depth=3"], "image_size"),
        (["resnet50", "--set", "width=wide"], "whole number"),
        (["resnet50", "--set", "width"], "NAME=VALUE"),
        (["resnet50", "--steps", "0"], "1 or more"),
        (["resnet50", "--precision", "fp8"], "bf16"),
        (["resnet50", "--profile", "5:2"], "FROM:TO"),
    ],
)
def test_a_mistake_is_told_in_a_line(arguments: list[str], said: str) -> None:
    done = options(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize(
    "training",
    [
        Training(name="resnet51"),
        Training(name="resnet50", framework="caffe"),
        Training(name="resnet50", preset="huge"),
    ],
)
def test_unknown_names_are_refused(training: Training) -> None:
    with pytest.raises(UsageError) as caught:
        workloads.check(training)
    assert caught.value.hint


def test_a_preset_is_the_workloads_or_the_profilers() -> None:
    assert workloads.split_presets("resnet50", ["memory", "tiny"]) == (
        ["memory"],
        "tiny",
    )
    assert workloads.split_presets("resnet50", ["metrics"]) == (["metrics"], None)
    with pytest.raises(TracekitError):
        workloads.split_presets("resnet50", ["tiny", "paper"])


def test_a_sweep_is_a_training_for_each_size() -> None:
    found = workloads.swept(Training(name="a3c"), "batch-size=32,8")
    assert [(label, each.batch_size) for label, each in found.items()] == [
        ("b8", 8),
        ("b32", 32),
    ]


@pytest.mark.parametrize("text", ["8,16", "batch-size=", "batch-size=0", "steps=3"])
def test_what_is_no_sweep_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--sweep"):
        workloads.swept(Training(name="a3c"), text)
