"""Numbers that do not fit the type of their column become NULL."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def narrow(column: pa.Array, to: pa.DataType) -> pa.Array:
    """Cast to a smaller type; a number that does not fit becomes NULL."""
    try:
        return column.cast(to)
    except pa.ArrowInvalid:
        limit = 2**31
        fits = pc.and_(pc.less(column, limit), pc.greater_equal(column, -limit))
        return pc.if_else(fits, column, pa.scalar(None, column.type)).cast(to)


def within(cell: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 - a cell
    """Return a number of its type; one that does not fit becomes NULL."""
    if not isinstance(cell, int) or not pa.types.is_integer(kind):
        return cell
    limit = 1 << (kind.bit_width - 1)
    return cell if -limit <= cell < limit else None
