"""Maps a column through its distinct values, so Python runs once for each of them."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def map_distinct(
    column: pa.Array, value_of: Callable[[Any], Any], to: pa.DataType
) -> pa.Array:
    """Return `value_of` of each cell; NULL stays NULL.

    Only values that occur reach the result, so its dictionary holds no other text.
    """
    encoded = column.dictionary_encode()
    values = pa.array([value_of(value.as_py()) for value in encoded.dictionary], to)
    if not pa.types.is_string(to):
        return values.take(encoded.indices)
    if values.null_count:
        # Parquet takes no NULL inside a dictionary.
        return values.take(encoded.indices).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, values)
