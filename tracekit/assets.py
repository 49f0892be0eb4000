"""Finds the queries, collectors, workloads and the demo that ship with tracekit."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

_BUNDLED = files("tracekit") / "_bundled"
_CHECKOUT = Path(__file__).resolve().parent.parent
_IN_CHECKOUT = {"demo": Path("fixtures") / "demo"}


def assets(kind: Literal["queries", "collectors", "workloads", "demo"]) -> Traversable:
    """Return the folder `kind`, from the wheel or from the checkout."""
    bundled = _BUNDLED / kind
    if bundled.is_dir():
        return bundled
    return _CHECKOUT / _IN_CHECKOUT.get(kind, Path(kind))
