"""The strings of an export, looked up by id.

StringIds holds everything that repeats: names of kernels and functions, and also
environment variables, output and whole files. So nothing of it is copied but the
text of an id that a mapped column holds.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.distinct import map_distinct
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
        index = pc.search_sorted(self._ids, string_id).as_py()
        if index >= len(self._ids) or self._ids[index].as_py() != string_id:
            return None
        text: str | None = self._values[index].as_py()
        return text

    def column(
        self, ids: pa.Array, change: Callable[[str], str] | None = None
    ) -> pa.Array:
        """Return the text of a column of ids, changed by `change`."""

        def text(string_id: int) -> str | None:
            found = self.text(string_id)
            return found if found is None or change is None else change(found)

        return map_distinct(ids, text, pa.string())
