"""The training workloads that ship with tracekit, and the commands that run them."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib.resources import as_file
from pathlib import Path

import msgspec

from tracekit.assets import assets
from tracekit.errors import UsageError
from tracekit.tools.interpreters import Interpreter

RECORD_VARIABLE = "TRACEKIT_WORKLOAD_RECORD"
RECORD_SUFFIX = ".workload.jsonl"
# What a workload ends with where the memory did not suffice: `workloads/run.py`.
OUT_OF_MEMORY = 86
_WARM_UP, _PROFILED_TO = 5, 15


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `workloads/catalog.json`.

    Attributes:
        application: What it is for.
        model: Its name in the paper.
        layers: How many, as the paper counts.
        dominant_layer: Kind of layer that takes the most time.
        dataset: What its synthetic data imitate.
        unit: What a sample is, as in table `step`.
        frameworks: Those that it is written in, the default first.
        presets: Settings by preset.
        overrides: Settings by framework and preset, where a framework needs others.
    """

    application: str
    model: str
    layers: str
    dominant_layer: str
    dataset: str
    unit: str
    frameworks: list[str]
    presets: dict[str, dict[str, int | float | str]]
    overrides: dict[str, dict[str, dict[str, int | float | str]]] = {}


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is to be trained; None leaves it to the preset.

    Attributes:
        name: The workload.
        framework: What it is trained with.
        python: The interpreter that the user named.
        preset: The preset.
        batch_size: What an iteration takes.
        steps: Iterations.
        precision: fp32, tf32, fp16 or bf16.
        device: auto, cuda or cpu.
        seed: Seed of weights and data.
        settings: Further settings, NAME=VALUE.
        profile: Iterations FROM:TO between which a profiler that waits records.
    """

    name: str
    framework: str | None = None
    python: str | None = None
    preset: str | None = None
    batch_size: int | None = None
    steps: int | None = None
    precision: str | None = None
    device: str | None = None
    seed: int | None = None
    settings: Sequence[str] = field(default_factory=tuple)
    profile: str | None = None


def workloads() -> dict[str, Workload]:
    """Return the workloads by name."""
    text = (assets("workloads") / "catalog.json").read_text("utf-8")
    return msgspec.convert(json.loads(text), dict[str, Workload])


def workload(name: str) -> Workload:
    """Return one workload.

    Raises:
        UsageError: There is none of this name.
    """
    known = workloads()
    if name not in known:
        raise UsageError(
            f"there is no workload `{name}`", hint=f"they are {', '.join(known)}"
        )
    return known[name]


def framework_of(training: Training) -> str:
    """Return the framework to train with.

    Raises:
        UsageError: The workload is not known, or not written in it.
    """
    known = workload(training.name)
    if training.framework is None:
        return known.frameworks[0]
    if training.framework not in known.frameworks:
        raise UsageError(
            f"{training.name} is not written in `{training.framework}`",
            hint=f"it is in {', '.join(known.frameworks)}",
        )
    return training.framework


def check(training: Training) -> None:
    """Check what can be checked before the interpreter starts.

    Raises:
        UsageError: A name is not known.
    """
    known = workload(training.name)
    framework_of(training)
    preset = training.preset
    if preset is not None and preset not in known.presets:
        raise UsageError(
            f"{training.name} has no preset `{preset}`",
            hint=f"its presets are {', '.join(known.presets)}",
        )


def split_presets(name: str, given: Sequence[str]) -> tuple[list[str], str | None]:
    """Tell the presets of a profiler from the one of the workload.

    Raises:
        UsageError: There is no such workload, or several of its presets are given.
    """
    own = [preset for preset in given if preset in workload(name).presets]
    if len(own) > 1:
        raise UsageError(f"--preset is both `{own[0]}` and `{own[1]}`")
    return [preset for preset in given if preset not in own], own[0] if own else None


def profiled_steps(capture_range: str, steps: int | None) -> str | None:
    """Return the iterations between which a profiler records that waits for them.

    The first five of many are warm-up.
    """
    if capture_range.casefold() != "cudaprofilerapi":
        return None
    last = steps or _PROFILED_TO
    return f"{min(_WARM_UP, last // 2)}:{last}"


def swept(training: Training, sweep: str) -> dict[str, Training]:
    """Return the trainings of a sweep by label.

    Raises:
        UsageError: It is not batch-size=N,N,...
    """
    name, _, text = sweep.partition("=")
    values = text.split(",")
    if name != "batch-size" or not all(
        value.isascii() and value.isdecimal() and int(value) for value in values
    ):
        raise UsageError(f"--sweep is `{sweep}`", hint="--sweep batch-size=8,16,32")
    if training.batch_size is not None:
        raise UsageError("both --batch-size and --sweep are given")
    sizes = sorted({int(value) for value in values})
    return {f"b{size}": replace(training, batch_size=size) for size in sizes}


def scripts() -> AbstractContextManager[Path]:
    """Return the folder of the workloads, on the disk as long as it is open."""
    return as_file(assets("workloads"))


def command(training: Training, interpreter: Interpreter, folder: Path) -> list[str]:
    """Return the command that trains a workload.

    Args:
        training: What is to be trained.
        interpreter: What has the framework.
        folder: Where the workloads are.
    """
    options = {
        "framework": framework_of(training),
        "preset": training.preset,
        "batch-size": training.batch_size,
        "steps": training.steps,
        "precision": training.precision,
        "device": training.device,
        "seed": training.seed,
        "profile": training.profile,
    }
    words = [interpreter.python, str(folder / "run.py"), training.name]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name}", str(value)]
    for setting in training.settings:
        words += ["--set", setting]
    return words
