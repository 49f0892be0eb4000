"""Captures of the shared collection, each converted once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tracekit.convert import convert
from tracekit.store.run import Run

Converted = Callable[[Path], Run]


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Converted:
    """Convert a capture, once a session."""

    @cache
    def run_of(capture: Path) -> Run:
        place = tmp_path_factory.mktemp("converted") / capture.stem
        return convert([capture], place)

    return run_of
