"""Kinds of copies have the words that exports give them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.support.shared import needs_shared, nsys_captures
from tracekit.convert.nsys.tables import COPY_KINDS
from tracekit.query.catalog import macros

pytestmark = needs_shared

_LABELS = "SELECT id, label FROM ENUM_CUDA_MEMCPY_OPER"


def labels(capture: Path) -> dict[int, str]:
    """Return NVIDIA's words for the kinds of copies; none before schema 3.0.0."""
    with closing(sqlite3.connect(f"file:{capture}?immutable=1", uri=True)) as export:
        try:
            return dict(export.execute(_LABELS))
        except sqlite3.OperationalError:
            return {}


CAPTURES = [
    capture
    for capture in nsys_captures()
    if capture.suffix == ".sqlite" and labels(capture)
] or [Path("none")]


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_operations_are_named_as_the_export_says(capture: Path) -> None:
    with duckdb.connect() as connection:
        for text in macros().values():
            connection.execute(text)
        for number, label in labels(capture).items():
            found = connection.execute(
                "SELECT operation_name('memcpy', $kind)",
                {"kind": COPY_KINDS.get(number)},
            ).fetchone()
            assert found == (f"[CUDA memcpy {label}]",)


def test_every_kind_has_words() -> None:
    known = {number for capture in CAPTURES for number in labels(capture)}
    assert known >= COPY_KINDS.keys()
