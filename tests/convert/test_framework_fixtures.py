"""The recorded captures of frameworks that ship with the project."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared import ROOT
from tracekit.convert import convert

FOLDERS = ("tensorflow", "mxnet", "cntk")
FIXTURES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / "fixtures" / folder).iterdir()
    if path.suffix != ".toml"
)


def origin(capture: Path) -> dict[str, Any]:
    stem = capture.name.partition(".")[0]
    return tomllib.loads((capture.parent / f"{stem}.origin.toml").read_text())


@pytest.mark.parametrize("capture", FIXTURES, ids=lambda path: path.name)
def test_what_the_origin_says_is_true(capture: Path, tmp_path: Path) -> None:
    manifest = convert([capture], tmp_path / "run").manifest
    expected = origin(capture)["rows"]
    assert {name: manifest.rows(name) for name in expected} == expected
    assert capture.stat().st_size < 100_000
