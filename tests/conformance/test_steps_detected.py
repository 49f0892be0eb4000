"""Iterations found from kernels alone, against those that were annotated."""

from pathlib import Path

import pytest

from tests.conformance.conftest import Converted
from tests.support.shared import NSYS, needs_shared
from tracekit.query import Scope, load_module, run_module
from tracekit.query.scope import parse_window

pytestmark = needs_shared

ALL = Scope(window=parse_window("all"))


# Kernels of an iteration as steps.summary counts what each step launched.
@pytest.mark.parametrize(
    ("capture", "steps"), [("resnet50.sqlite", 3), ("resnet50_amp.sqlite", 5)]
)
def test_detected_iterations_are_the_annotated_ones(
    capture: str, steps: int, converted: Converted
) -> None:
    run = converted(Path(NSYS / "h200" / capture))
    found = run_module(load_module("steps.detect"), [run]).table.to_pylist()
    marked = run_module(
        load_module("steps.summary"), [run], scope=ALL
    ).table.to_pylist()
    assert len(found) == len(marked) == steps
    for ours, theirs in zip(found, marked, strict=True):
        assert ours["kernels"] == theirs["kernels"]
        assert theirs["start_ns"] < ours["start_ns"] < theirs["end_ns"]
        assert ours["confidence"] > 0.9
