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
    values = pa.array([value_of(value) for value in encoded.dictionary.to_pylist()], to)
    if pa.types.is_string(to):
        return encode(values, encoded.indices)
    return values.take(encoded.indices)


def encode(values: pa.Array, indices: pa.Array) -> pa.Array:
    """Return text as a dictionary array, NULL where its value is."""
    if values.null_count:
        # Parquet takes no NULL inside a dictionary.
        return values.take(indices).dictionary_encode()
    return pa.DictionaryArray.from_arrays(indices, values)
