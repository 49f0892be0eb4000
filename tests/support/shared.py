"""The collection of captures beside the checkout, which tests may lack."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT.parent / "shared" / "traces"
NSYS = TRACES / "nsys"


# CI sets it: there the comparisons must run, and a missing folder is a failure.
REQUIRED = os.environ.get("TRACEKIT_REQUIRE_SHARED") == "1"

needs_shared = pytest.mark.skipif(
    not TRACES.is_dir() and not REQUIRED,
    reason="needs ../shared/traces, which is not here",
)


def nsys_captures() -> list[Path]:
    """Return the nsys captures, sorted; none without the collection."""
    if not NSYS.is_dir():
        return []
    folders = [path for path in NSYS.glob("*/*_pqtdir") if path.is_dir()]
    return sorted([*NSYS.glob("*/*.sqlite"), *folders])


# What lies beside captures: what they must come to, and how they were made.
NO_CAPTURE = (
    "*.md",
    "*.exact.json",
    "*.keyavg.json",
    "*.flops.json",
    "*.stats/*",
    "*_pqtdir/*",
    "src/*",
    "mlp_adam.json",
)


def captures() -> list[Path]:
    """Return every capture of the collection, sorted; none without it."""
    files = [file for file in TRACES.rglob("*") if file.is_file()]
    found = [f for f in files if not any(map(f.match, NO_CAPTURE))]
    # A cache of conversions may stand beside a capture.
    return sorted(
        [*TRACES.rglob("*_pqtdir"), *(f for f in found if ".tracekit" not in f.parts)]
    )


def exact(capture: Path) -> dict[str, Any]:
    """Return the integer pass over a capture that lies beside it."""
    path = capture.with_suffix(".exact.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found
