"""Captures of the shared collection, each converted once."""

import fcntl
import os
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from tracekit.convert import convert
from tracekit.store.run import Run, open_run

Converted = Callable[..., Run]
"""Takes one capture, or several that make one run."""


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Converted:
    """Convert captures, once a session: the processes of pytest-xdist share them."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder = folder / "converted"
    folder.mkdir(exist_ok=True)

    @cache
    def run_of(*captures: Path) -> Run:
        named = "\n".join(map(str, captures))
        place = folder / sha256(named.encode()).hexdigest()[:16]
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # A run is published as a whole.
            return open_run(place) if place.exists() else convert([*captures], place)

    return run_of
