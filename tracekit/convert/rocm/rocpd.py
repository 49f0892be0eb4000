"""The tables of a rocpd database in one shape, whichever version wrote them.

Table names end in an id of the file; a merged database has the tables of several.
Version 3 keeps times, process, thread, agent, queue and stream in each row; version 4
keeps times in `rocpd_timestamp` and the rest in `rocpd_track`.
"""

import re
from collections import defaultdict
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from tracekit.convert.nsys.sqlite_export import SqliteExport

_TABLE = re.compile(r"(rocpd_[a-z_]*?[a-z])((?:_?[0-9a-f]{8}(?:[_-]?[0-9a-f]+)*)?)")
_PLACE = ("pid", "tid", "agent_id", "queue_id", "stream_id")


def parts_of(tables: list[str]) -> dict[str, dict[str, str]]:
    """Return the tables of each part of a database, by id and plain name."""
    parts: dict[str, dict[str, str]] = defaultdict(dict)
    for table in sorted(tables):
        match = _TABLE.fullmatch(table)
        if match is not None:
            parts[match[2]][match[1]] = table
    return dict(parts)


class Part:
    """The tables of one file.

    Args:
        export: The database.
        tables: Its tables by plain name.
    """

    def __init__(self, export: SqliteExport, tables: dict[str, str]) -> None:
        self._export = export
        self._tables = tables
        self.is_normalized = "rocpd_timestamp" in tables
        self.strings = {
            row["id"]: row["string"]
            for row in self.rows("rocpd_string", ("id",), ("string",))
        }

    def frame(
        self,
        name: str,
        numbers: tuple[str, ...],
        texts: tuple[str, ...] = (),
        reals: tuple[str, ...] = (),
    ) -> pl.DataFrame:
        """Return columns of a table; NULL where it lacks them, no rows without it."""
        kinds = {
            **dict.fromkeys(numbers, pa.int64()),
            **dict.fromkeys(texts, pa.string()),
            **dict.fromkeys(reals, pa.float64()),
        }
        schema = pa.schema(list(kinds.items()))
        table = self._tables.get(name)
        present = frozenset() if table is None else self._export.columns(table)
        wanted = pa.schema([(n, kind) for n, kind in kinds.items() if n in present])
        batches = []
        if table is not None and wanted.names:
            for batch in self._export.batches(table, wanted):
                columns = [
                    batch.column(n) if n in present else pa.nulls(batch.num_rows, kind)
                    for n, kind in kinds.items()
                ]
                batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        frame = pl.from_arrow(pa.Table.from_batches(batches, schema))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def rows(
        self, name: str, numbers: tuple[str, ...], texts: tuple[str, ...] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of a small table."""
        return self.frame(name, numbers, texts).to_dicts()

    def has(self, name: str) -> bool:
        """Tell whether the table is there."""
        return name in self._tables

    def count(self, name: str) -> int:
        """Return the number of rows of a table."""
        return self._export.count(self._tables[name])

    def names(self) -> list[str]:
        """Return the plain names of the tables."""
        return list(self._tables)

    def spans(
        self, name: str, numbers: tuple[str, ...], texts: tuple[str, ...] = ()
    ) -> pl.DataFrame:
        """Return rows of a table of spans with start, end and where they ran."""
        if not self.is_normalized:
            return self._correlated(
                self.frame(name, (*numbers, *_PLACE, "event_id", "start", "end"), texts)
            )
        keys = ("track_id", "start_id", "end_id", "event_id")
        # A column that both the row and its track have is the row's.
        own = tuple(n for n in numbers if n not in _PLACE)
        frame = self.frame(name, (*own, *keys), texts)
        times = self.frame("rocpd_timestamp", ("id", "value"))
        tracks = self.frame("rocpd_track", ("id", *_PLACE))
        for key, time in (("start_id", "start"), ("end_id", "end")):
            named = times.rename({"id": key, "value": time}).unique(key)
            frame = frame.join(named, on=key, how="left", maintain_order="left")
        placed = tracks.rename({"id": "track_id"}).unique("track_id")
        frame = frame.join(placed, on="track_id", how="left", maintain_order="left")
        return self._correlated(frame)

    def _correlated(self, frame: pl.DataFrame) -> pl.DataFrame:
        events = self.frame(
            "rocpd_event", ("id", "category_id", "correlation_id"), ("extdata",)
        )
        events = events.rename({"id": "event_id", "extdata": "event_data"})
        return frame.join(
            events.unique("event_id"), on="event_id", how="left", maintain_order="left"
        )


def data_of(text: str | None) -> dict[str, Any]:
    """Return JSON that a row carries; none where it is compressed or damaged."""
    if not text:
        return {}
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
