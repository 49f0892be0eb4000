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


def exact(capture: Path) -> dict[str, Any]:
    """Return the integer pass over a capture that lies beside it."""
    path = capture.with_suffix(".exact.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found
