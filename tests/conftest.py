"""Fixtures of the whole suite."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from tests.support.runs import RUN_ID, make_run
from tests.support.tables import Row, rounded
from tracekit.query import Scope, load_module, run_module
from tracekit.query.scope import parse_window
from tracekit.store.run import Run

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the expected output"
    )
    parser.addoption(
        "--all-spoils", action="store_true", help="spoil every column of an export"
    )
    parser.addoption(
        "--all-reports",
        action="store_true",
        help="open the report of every own capture, and of a million kernels",
    )


@pytest.fixture(autouse=True)
def _plain_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """80 columns, no color, and a cache folder of the test's own."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    monkeypatch.delenv("TRACEKIT_NSYS", raising=False)


class MakeRun(Protocol):
    """Makes a run from tables of text; see `make_run`."""

    def __call__(
        self,
        tables: Mapping[str, str] | None = None,
        *,
        run_id: str = RUN_ID,
        ranks: Mapping[int, Mapping[str, str]] | None = None,
        absent: Mapping[str, str] | None = None,
    ) -> Run: ...


class QueryRows(Protocol):
    """Asks a query of a run made from tables of text, given by name."""

    def __call__(
        self,
        name: str,
        tables: Mapping[str, str] | None = None,
        *,
        parameters: Mapping[str, object] | None = None,
        window: str | None = None,
        devices: tuple[int, ...] | None = None,
        processes: tuple[int, ...] | None = None,
        ranks: Mapping[int, Mapping[str, str]] | None = None,
        **more: str,
    ) -> list[Row]: ...


@pytest.fixture
def run_of(tmp_path: Path) -> MakeRun:
    """Make a run of rank 0 from tables of text."""
    count = 0

    def make(
        tables: Mapping[str, str] | None = None,
        *,
        run_id: str = RUN_ID,
        ranks: Mapping[int, Mapping[str, str]] | None = None,
        absent: Mapping[str, str] | None = None,
    ) -> Run:
        nonlocal count
        count += 1
        place = tmp_path / f"run-{count}"
        return make_run(place, tables or {}, run_id=run_id, ranks=ranks, absent=absent)

    return make


@pytest.fixture
def query_rows(run_of: MakeRun) -> QueryRows:
    """Ask a query of rows; real numbers come rounded to three digits."""

    def ask(
        name: str,
        tables: Mapping[str, str] | None = None,
        *,
        parameters: Mapping[str, object] | None = None,
        window: str | None = None,
        devices: tuple[int, ...] | None = None,
        processes: tuple[int, ...] | None = None,
        ranks: Mapping[int, Mapping[str, str]] | None = None,
        **more: str,
    ) -> list[Row]:
        run = run_of({**(tables or {}), **more}, ranks=ranks)
        scope = Scope(
            window=parse_window(window) if window else None,
            devices=devices,
            processes=processes,
        )
        texts = {key: str(value) for key, value in (parameters or {}).items()}
        answer = run_module(load_module(name), [run], texts, scope=scope)
        return rounded(answer.table.to_pylist())

    return ask


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with a file of `tests/golden`; --update-golden rewrites it."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        expected = path.read_text() if path.exists() else ""
        assert text == expected, f"{name} differs; pytest --update-golden rewrites it"

    return compare


@pytest.fixture
def in_root(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the root of the checkout."""
    root = Path(__file__).resolve().parents[1]
    monkeypatch.chdir(root)
    assert os.access(root / "pyproject.toml", os.R_OK)
    return root
