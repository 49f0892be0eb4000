"""The recorded captures that ship with the project: true, small, and fit to share."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.exports import (
    FIXTURES,
    RECORDED,
    SCALE_ARROW,
    SCALE_PARQUET,
    decompressed,
)
from tracekit.convert import convert
from tracekit.convert.nsys.columnar_export import ColumnarExport, plain
from tracekit.convert.readers.base import CaptureLog
from tracekit.query import load_module, run_module

# What the machines they were recorded on, and other machines, are known to write.
FORBIDDEN = (
    b"EXAMPLE-NOT-A-SECRET",
    b"AWS_",
    b"PATH=",
    b"HOME=",
    b"/home",
    b"/root",
    b"/tmp",
    b"/opt",
    b"/usr",
    b"/work",
    b"/scratch",
    b"gpu-host",
    b"prog.py",
    b"models.py",
)


def origin(capture: Path) -> dict[str, Any]:
    stem = capture.name.partition(".")[0]
    return tomllib.loads((capture.parent / f"{stem}.origin.toml").read_text())


def test_every_capture_has_an_origin() -> None:
    found = set(FIXTURES.rglob("*.sqlite.zst"))
    assert found == set(RECORDED)
    assert all(origin(path)["made_with"].startswith("tracekit scrub") for path in found)


@pytest.mark.parametrize("capture", RECORDED, ids=lambda path: path.name)
def test_what_the_origin_says_is_true(capture: Path, tmp_path: Path) -> None:
    facts = origin(capture)
    run = convert([capture], tmp_path / "run")
    manifest = run.manifest
    assert {name: manifest.rows(name) for name in facts["rows"]} == facts["rows"]
    assert manifest.driver_version == facts["driver"]
    assert manifest.source.schema_version == facts["schema"]
    assert manifest.source.tools["nsys"].startswith(facts["nsys"])
    assert manifest.gpus == [facts["gpu"]]
    (row,) = run_module(load_module("gpu.utilization"), [run]).table.to_pylist()
    assert {name: row[name] for name in facts["exact"]} == facts["exact"]


@pytest.mark.parametrize("capture", RECORDED, ids=lambda path: path.name)
def test_it_tells_nothing_of_a_machine(capture: Path) -> None:
    content = decompressed(capture)
    assert [word for word in FORBIDDEN if word in content] == []


@pytest.mark.parametrize("folder", [SCALE_PARQUET, SCALE_ARROW])
def test_neither_does_a_folder(folder: Path) -> None:
    export = ColumnarExport(folder, CaptureLog())
    for table in export.tables():
        for batch in export.raw_batches(table):
            for column in batch.columns:
                cells = plain(column).to_pylist()
                content = b" ".join(cell for cell in cells if isinstance(cell, bytes))
                assert [word for word in FORBIDDEN if word in content] == []


@pytest.mark.parametrize("capture", RECORDED, ids=lambda path: path.name)
def test_the_traced_command_is_a_program_alone(capture: Path, tmp_path: Path) -> None:
    assert convert([capture], tmp_path / "run").manifest.command == origin(capture).get(
        "command", "python3"
    )


def test_they_are_small() -> None:
    sizes = [path.stat().st_size for path in RECORDED]
    assert max(sizes) < 1_000_000
    assert sum(sizes) < 2_000_000
