"""What a workload is asked for: the command line, over a preset of the catalog.

Runs in Python 3.6 and later, with the standard library only.
"""

import argparse
import json
import os
from pathlib import Path

CATALOG = Path(__file__).resolve().parent / "catalog.json"
FULL = "paper"
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
DEVICES = ("auto", "cuda", "cpu")


class Options:
    """What is to be trained, and how.

    Attributes:
        name: The workload.
        framework: torch, tensorflow, mxnet or cntk.
        preset: The preset that `sizes` began with.
        precision: fp32, tf32, fp16 or bf16.
        device: auto, cuda or cpu.
        seed: Seed of weights and data.
        steps: Training iterations.
        batch_size: What an iteration takes.
        sizes: All settings of the model by name.
        unit: What a sample is.
        record: Where the record of the iterations goes; None for nowhere.
        profile_from: Iteration before which the profiler is told to start; None to
            leave it alone.
        profile_to: Iteration before which it is told to stop.
    """

    def __init__(self, given: argparse.Namespace, catalog: dict) -> None:
        entry = catalog[given.workload]
        self.name = given.workload
        self.framework = given.framework or entry["frameworks"][0]
        self.preset = given.preset
        self.precision = given.precision
        self.device = given.device
        self.seed = given.seed
        self.unit = entry["unit"]
        self.model = entry["model"]
        self.record = given.record
        self.profile_from, self.profile_to = given.profile
        self.sizes = dict(entry["presets"][FULL])
        self.sizes.update(entry["presets"][given.preset])
        overrides = entry.get("overrides", {}).get(self.framework, {})
        self.sizes.update(overrides.get(given.preset, {}))
        for name, text in given.set:
            self.sizes[name] = _like(self.sizes[name], text)
        if given.batch_size is not None:
            self.sizes["batch_size"] = given.batch_size
        if given.steps is not None:
            self.sizes["steps"] = given.steps
        self.batch_size = self.sizes["batch_size"]
        self.steps = self.sizes["steps"]


def read_catalog() -> dict:
    """Return the workloads by name."""
    return json.loads(CATALOG.read_text(encoding="utf-8"))


def parse(arguments: "list[str] | None" = None) -> Options:
    """Parse the command line; a mistake in it ends the process with status 2."""
    catalog = read_catalog()
    parser = argparse.ArgumentParser(
        prog="run.py", description="Train one of the TBD models on synthetic data."
    )
    parser.add_argument("workload", choices=sorted(catalog), metavar="WORKLOAD")
    parser.add_argument("--framework", help="the first that has it by default")
    parser.add_argument("--preset", default=FULL)
    parser.add_argument("--batch-size", type=_positive)
    parser.add_argument("--steps", type=_positive)
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--device", choices=DEVICES, default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--set", type=_setting, action="append", default=[], metavar="NAME=VALUE"
    )
    parser.add_argument(
        "--profile", type=_range, default=(None, None), metavar="FROM:TO"
    )
    parser.add_argument("--record", default=os.environ.get("TRACEKIT_WORKLOAD_RECORD"))
    given = parser.parse_args(arguments)
    entry = catalog[given.workload]
    if given.preset not in entry["presets"]:
        parser.error(_unknown("--preset", given.preset, entry["presets"]))
    if given.framework not in [None] + entry["frameworks"]:
        parser.error(_unknown("--framework", given.framework, entry["frameworks"]))
    known = entry["presets"][FULL]
    for name, text in given.set:
        if name not in known:
            parser.error(_unknown("--set", name, known))
        try:
            _like(known[name], text)
        except ValueError:
            parser.error(f"--set {name}={text} is no {_kind(known[name])}")
    return Options(given, catalog)


def _unknown(option: str, value: str, known: "list[str]") -> str:
    return "{} is `{}`; it may be {}".format(option, value, ", ".join(known))


def _like(example: object, text: str) -> object:
    return type(example)(text)


def _kind(example: object) -> str:
    return {int: "whole number", float: "number"}.get(type(example), "text")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return number


def _setting(text: str) -> "tuple[str, str]":
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("it must be NAME=VALUE")
    return name, value


def _range(text: str) -> "tuple[int, int]":
    first, colon, last = text.partition(":")
    if not (colon and first.isdigit() and last.isdigit() and int(first) < int(last)):
        raise argparse.ArgumentTypeError("it must be FROM:TO, two iterations")
    return int(first), int(last)
