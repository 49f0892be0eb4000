"""Writes a report as one HTML file: no network, no other file.

Names in it come from captures and are hostile text. Jinja2 escapes every value; data
stand in blocks that no browser runs, with `<` written as an escape; a policy in the
page allows the scripts of this file alone, by their hashes, and no connection.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import IO

import msgspec
import pyarrow as pa
from markupsafe import Markup

from tracekit._version import __version__
from tracekit.report.cells import cell, visible
from tracekit.report.figures import draw
from tracekit.report.model import Exhibit, Report
from tracekit.report.page.timeline import drawing
from tracekit.report.page.units import human

_FOLDER = files("tracekit.report.page")
_SCRIPTS = ("page.js", "figures.js", "timeline.js")


def write_html(report: Report, target: IO[bytes]) -> None:
    """Write the report as one HTML file."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tracekit.report.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures: dict[str, object] = {}
    shown = {
        section.key: [
            _exhibit(f"{section.key}-{number}", exhibit, figures)
            for number, exhibit in enumerate(section.exhibits)
        ]
        for section in report.sections
    }
    scripts = [_bokeh()] if figures else []
    scripts += [(_FOLDER / name).read_text("utf-8") for name in _SCRIPTS]
    page = environment.get_template("report.html.j2").render(
        report=report,
        shown=shown,
        timelines=[(slices, _data(drawing(slices))) for slices in report.timelines],
        figures=_data(figures),
        style=Markup((_FOLDER / "page.css").read_text("utf-8")),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
        version=__version__,
        visible=visible,
    )
    target.write(page.encode("utf-8", "replace"))


def _exhibit(
    anchor: str, exhibit: Exhibit, figures: dict[str, object]
) -> dict[str, object]:
    plot = draw(exhibit.query, exhibit.table)
    if plot is not None:
        from bokeh.embed import json_item

        figures[f"figure-{anchor}"] = json_item(plot)
    return {
        "anchor": anchor,
        "exhibit": exhibit,
        "has_figure": plot is not None,
        "columns": [
            {
                "name": field.name,
                "numeric": _is_numeric(field.type),
                "meaning": exhibit.meaning.get(field.name, ""),
            }
            for field in exhibit.table.schema
        ],
        "rows": [
            [_cell(name, value) for name, value in row.items()]
            for row in exhibit.table.to_pylist()
        ],
    }


def _cell(name: str, value: object) -> dict[str, object]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "text": cell(value),
        "value": repr(value) if number else None,
        "hint": human(name, value) if number else None,
    }


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
    )


@cache
def _bokeh() -> str:
    """Return BokehJS without its widgets, tables and WebGL."""
    from bokeh.resources import Resources

    resources = Resources(mode="inline", components=["bokeh"], log_level="warn")
    return "\n".join(resources.js_raw)


def _data(content: object) -> Markup:
    """Return data as JSON that cannot end the element it stands in."""
    text = msgspec.json.encode(content).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _policy(scripts: list[str]) -> str:
    hashes = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
