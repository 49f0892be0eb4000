"""Where each column comes from, by reader: the source of the reference pages."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tracekit.convert.kineto.sources import kineto_sources
from tracekit.convert.nsys.sources import nsys_sources

Sources = Mapping[str, Mapping[str, str]]

_NSYS = ("nsys-sqlite", "nsys-columnar", "nsys-report")
_AS_ANOTHER = {"ncu-report": "ncu-csv"}


@cache
def column_sources() -> dict[str, Sources]:
    """Return, by reader, table and column, what of a capture fills the column."""
    text = Path(__file__).with_name("sources.toml").read_text("utf-8")
    found: dict[str, Sources] = {
        reader: {table: _columns(lines) for table, lines in tables.items()}
        for reader, tables in tomllib.loads(text).items()
    }
    found.update(dict.fromkeys(_NSYS, nsys_sources()))
    found["kineto"] = kineto_sources()
    for reader, same in _AS_ANOTHER.items():
        found[reader] = found[same]
    return found


def _columns(lines: Mapping[str, str]) -> dict[str, str]:
    """Return a source for each column; a key may name several, parted by commas."""
    return {
        column.strip(): source
        for names, source in lines.items()
        for column in names.split(",")
    }
