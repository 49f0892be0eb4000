"""The strings of an export, looked up by id.

StringIds holds everything that repeats: names of kernels and functions, and also
environment variables, output and whole files. So nothing of it is copied but the
text of an id that a mapped column holds.
"""

from bisect import bisect_left
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import encode
from tracekit.convert.nsys.export import Export

_COLUMNS = pa.schema([("id", pa.int64()), ("value", pa.string())])


class Strings:
    """The table StringIds."""

    def __init__(self, export: Export) -> None:
        ids: list[pa.Array] = []
        values: list[pa.Array] = []
        if {"id", "value"} <= export.columns("StringIds"):
            for batch in export.batches("StringIds", _COLUMNS):
                ids.append(batch.column("id"))
                values.append(batch.column("value"))
        self._ids = pa.concat_arrays(ids) if ids else pa.array([], pa.int64())
        self._values = pa.concat_arrays(values) if values else pa.array([], pa.string())
        if not pc.all(pc.less(self._ids[:-1], self._ids[1:])).as_py():
            order = pc.sort_indices(self._ids)
            self._ids = self._ids.take(order)
            self._values = self._values.take(order)

    def text(self, string_id: int | None) -> str | None:
        """Return the text of an id, or None."""
        if string_id is None:
            return None
        found: str | None = self._texts(pa.array([string_id], pa.int64()))[0].as_py()
        return found

    def column(
        self, ids: pa.Array, change: Callable[[str], str] | None = None
    ) -> pa.Array:
        """Return the text of a column of ids, changed by `change`.

        Only ids that occur are looked up, and only their text is in the dictionary.
        """
        encoded = ids.dictionary_encode()
        texts = self._texts(encoded.dictionary)
        if change is not None:
            changed = [
                None if text is None else change(text) for text in texts.to_pylist()
            ]
            texts = pa.array(changed, pa.string())
        return encode(texts, encoded.indices)

    def _texts(self, ids: pa.Array) -> pa.Array:
        if not len(self._ids):
            return pa.nulls(len(ids), pa.string())
        begin = self._ids.offset
        buffer = memoryview(self._ids.buffers()[1]).cast("q")
        known = buffer[begin : begin + len(self._ids)]
        found_at = [bisect_left(known, string_id) for string_id in ids.to_pylist()]
        places = pa.array(found_at, pa.int64())
        within = pc.min_element_wise(places, pa.scalar(len(self._ids) - 1, places.type))
        found = pc.equal(self._ids.take(within), ids)
        return pc.if_else(
            found, self._values.take(within), pa.scalar(None, pa.string())
        )
