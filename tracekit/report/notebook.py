"""How results and figures look in a notebook."""

from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from tracekit.report.cells import cell, visible

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812 - it is a class

_MOST_ROWS = 50
_MARGIN = 40


def table_html(table: pa.Table, notes: tuple[str, ...] = ()) -> str:
    """Return a result as an HTML table, its first rows where it has many."""
    head = "".join(
        f'<th scope="col">{escape(visible(name))}</th>' for name in table.column_names
    )
    rows = [
        "<tr>"
        + "".join(
            f'<td style="text-align: {_side(value)}">{escape(cell(value))}</td>'
            for value in row.values()
        )
        + "</tr>"
        for row in table.slice(0, _MOST_ROWS).to_pylist()
    ]
    told = [escape(visible(note)) for note in notes]
    if table.num_rows > _MOST_ROWS:
        told.append(f"The first {_MOST_ROWS} of {table.num_rows:,} rows.")
    below = "".join(f"<p>{note}</p>" for note in told)
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"{below}"
    )


def _side(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "right" if number else "left"


class Plot:
    """A figure of a trace; a notebook shows it, and it can be written as HTML.

    Attributes:
        figure: Bokeh's figure, to be changed before it is shown.
    """

    def __init__(self, figure: "Figure") -> None:
        self.figure = figure

    def to_html(self) -> str:
        """Return a page with the figure that needs no network."""
        from bokeh.embed import file_html
        from bokeh.resources import INLINE

        page: str = file_html(self.figure, INLINE, title="tracekit")
        return page

    def _repr_html_(self) -> str:
        height = (self.figure.height or 300) + _MARGIN
        # A frame of its own: the scripts of a notebook are none of the figure's.
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" title="Figure"'
            f' style="width: 100%; height: {height}px; border: 0"></iframe>'
        )
