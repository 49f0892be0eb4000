"""The documentation says what is there, and what it says is true."""

import importlib.util
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

from fuzz.targets import BUNDLE, CORPUS, NOT_FUZZED, SEEDS
from tests.support.shared import ROOT, needs_shared, nsys_captures
from tracekit.cli import COMMANDS
from tracekit.convert import convert
from tracekit.convert.bundle import found_in
from tracekit.convert.nsys.sources import nsys_sources
from tracekit.convert.readers import READERS
from tracekit.convert.readers.base import CaptureLog, Reading
from tracekit.convert.sources import column_sources
from tracekit.errors import TracekitError
from tracekit.query import module_names
from tracekit.schema import TABLES

DOCS = ROOT / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["schema.md", "sources.md", "queries.md"])
def test_generated_pages_are_current(page: str) -> None:
    written = (DOCS / page).read_text()
    assert written == generator().PAGES[page](), "run python docs/generate.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"tracekit {command}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", module_names())
def test_every_query_is_documented(name: str) -> None:
    assert f"## {name}\n" in (DOCS / "queries.md").read_text()


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_every_reader_is_documented(reader: object) -> None:
    name = getattr(reader, "name")  # noqa: B009 - a parameter of any reader type
    pages = "".join(page.read_text() for page in (DOCS / "formats").glob("*.md"))
    assert f"`{name}`" in pages


def test_every_table_and_column_is_described() -> None:
    page = (DOCS / "schema.md").read_text()
    for table in TABLES.values():
        assert f"\n## {table.name}\n" in page
        for column in table.columns:
            assert len(column.meaning) > 5
            assert column.meaning.endswith(".")


def test_sources_name_columns_of_the_schema() -> None:
    sources = column_sources()
    assert sources.keys() == {reader.name for reader in READERS}
    for reader, tables in sources.items():
        for table, columns in tables.items():
            assert columns.keys() <= TABLES[table].column_names, (reader, table)
            assert all(len(source) > 1 for source in columns.values())


def filled_by(capture: Path, scratch: Path) -> dict[str, set[tuple[str, str]]]:
    """Return the columns that hold a value, by reader, of what a path holds."""
    filled: dict[str, set[tuple[str, str]]] = {}
    for found in found_in(capture, scratch, scratch / "run"):
        reading = Reading(
            name=found.name,
            tables=frozenset(TABLES),
            log=CaptureLog(),
            scratch=scratch,
        )
        for batch in found.reader.read(found.path, reading):
            filled.setdefault(found.reader.name, set()).update(
                (batch.table, name)
                for name, column in zip(
                    batch.rows.schema.names, batch.rows.columns, strict=True
                )
                if column.null_count < len(column)
            )
    return filled


def test_every_column_that_a_reader_fills_has_a_source(tmp_path: Path) -> None:
    """On the small captures of each reader that the fuzzer starts from."""
    read: set[str] = set()
    captures = [file for file in CORPUS.glob("*/*") if file.parent.name != BUNDLE]
    for capture in [*captures, *SEEDS.iterdir()]:
        with suppress(TracekitError):
            for reader, filled in filled_by(capture, tmp_path).items():
                read.add(reader)
                sources = column_sources()[reader]
                unnamed = {(t, c) for t, c in filled if c not in sources.get(t, {})}
                assert not unnamed, (reader, capture.name)
    # Those that need a program of NVIDIA's are alike to others.
    assert read == {r.name for r in READERS} - NOT_FUZZED


@needs_shared
def test_every_column_that_is_filled_has_a_source(tmp_path: Path) -> None:
    sources = nsys_sources()
    for capture in nsys_captures():
        run = convert([capture], tmp_path / capture.name)
        for table in run.manifest.tables:
            for file in run.files(table):
                rows = pq.read_table(file, partitioning=None)
                for name in rows.column_names:
                    filled = rows[name].null_count < rows.num_rows
                    assert not filled or name in sources[table], (table, name)


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_commands_run(tmp_path: Path) -> None:
    """Run the lines of the README's tour on the demo, in order."""
    text = (ROOT / "README.md").read_text()
    tour = re.search(r"<!-- tour -->\s*```sh\n(.*?)```", text, re.DOTALL)
    assert tour is not None
    demo = ROOT / "fixtures" / "demo" / "resnet50.sqlite.zst"
    (tmp_path / "resnet50.sqlite.zst").write_bytes(demo.read_bytes())
    script = tour[1].replace("tracekit ", f"{sys.executable} -m tracekit ")
    done = subprocess.run(
        ["sh", "-euc", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
