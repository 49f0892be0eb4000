"""A result as a table in the terminal."""

import sys
from io import StringIO

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracekit.report.cells import cell, fit, shorten, visible

# A space after each column, and one between two.
_PADDING = 2
_MOST_ROWS = 10_000


def render(table: pa.Table, *, width: int, color: bool = False) -> str:
    """Return the table as text of `width` columns.

    Long text is shortened in its middle; where the numbers alone are too wide, the
    table is wider than asked.
    """
    buffer = StringIO()
    names = [visible(name) for name in table.column_names]
    rows = [
        [cell(value) for value in row.values()]
        for row in table.slice(0, _MOST_ROWS).to_pylist()
    ]
    is_text = [_is_text(field.type) for field in table.schema]
    natural = [
        max([len(name), *(len(row[index]) for row in rows)])
        for index, name in enumerate(names)
    ]
    widths = fit(natural, is_text, width - _PADDING * len(names))
    needed = sum(widths) + _PADDING * len(names)
    console = Console(
        file=buffer,
        width=max(width, needed),
        force_terminal=color,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    drawn = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
    )
    for name, text in zip(names, is_text, strict=True):
        drawn.add_column(Text(name), justify="left" if text else "right", no_wrap=True)
    for row in rows:
        drawn.add_row(*(Text(shorten(text, widths[i])) for i, text in enumerate(row)))
    console.print(drawn)
    lines = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())
    if table.num_rows > _MOST_ROWS:
        lines += f"\n… {table.num_rows - _MOST_ROWS:,} more rows; use --format csv"
    return lines + "\n"


def terminal_width() -> int:
    """Return the width of the terminal, 160 where there is none."""
    import shutil

    return shutil.get_terminal_size((160, 24)).columns


def wants_color() -> bool:
    """Tell whether standard output is a terminal that may be colored."""
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _is_text(kind: pa.DataType) -> bool:
    return not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )
