"""Writes a run as a trace: every row of a table with times is one slice."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from tracekit.api.groups import Groups
from tracekit.api.tracks import DRAWN, LAUNCHED, Drawn, Place, statement
from tracekit.query import Limits
from tracekit.query.engine import SqlSession
from tracekit.report.trace import Lanes, TraceSink
from tracekit.schema import TABLES
from tracekit.store.run import Run

Row = dict[str, Any]
WriteTable = Callable[[pa.RecordBatchReader, IO[bytes]], None]


@dataclass
class Written:
    """What came into a trace.

    Attributes:
        slices: Slices and instants, by table.
        without_time: Rows that say no time, by table.
        counters: Values of counters.
    """

    slices: dict[str, int] = field(default_factory=dict)
    without_time: dict[str, int] = field(default_factory=dict)
    counters: int = 0


def first_and_last(run: Run, session: SqlSession) -> tuple[int, int]:
    """Return the first start and the last end of all that is drawn; 0 for none."""
    tables = [drawn.table for drawn in DRAWN if run.manifest.rows(drawn.table)]
    selects = [
        f"SELECT min(start_ns) AS first_ns, max(coalesce(end_ns, start_ns)) AS last_ns"
        f" FROM {table}"
        for table in tables
    ]
    selects += [
        f"SELECT min(time_ns) AS first_ns, max(time_ns) AS last_ns FROM {table}"
        for table in ("counter_sample", "memory_event")
        if run.manifest.rows(table)
    ]
    if not selects:
        return 0, 0
    (row,) = session.run(
        "SELECT min(first_ns) AS first_ns, max(last_ns) AS last_ns FROM"
        f" ({' UNION ALL '.join(selects)})"
    ).table.to_pylist()
    return row["first_ns"] or 0, row["last_ns"] or 0


def write_trace(
    run: Run, session: SqlSession, sink: TraceSink, *, last_ns: int
) -> Written:
    """Write every slice, instant and counter of a run to a trace.

    Args:
        run: The run.
        session: SQL on that run alone.
        sink: The trace.
        last_ns: Where ranges end that never ended.
    """
    written = Written()
    groups = Groups(session, run)
    arrows = _Arrows(_launched(session, run))
    for drawn in DRAWN:
        count = run.manifest.rows(drawn.table)
        if not count:
            continue
        own = _write_table(session, drawn, sink, groups, arrows, last_ns)
        written.slices[drawn.table] = own
        if own < count:
            written.without_time[drawn.table] = count - own
    written.counters = _write_counters(session, run, sink, groups)
    sink.close()
    return written


def _rows(session: SqlSession, text: str) -> Iterator[Row]:
    for batch in session.stream(text):
        yield from batch.to_pylist()


def _launched(session: SqlSession, run: Run) -> dict[tuple[int, int], int]:
    """Return how much work each call launched, by process and correlation id."""
    tables = [name for name in sorted(LAUNCHED) if run.manifest.rows(name)]
    if not tables or not run.manifest.rows("api_call"):
        return {}
    selects = " UNION ALL ".join(
        f"SELECT process_id, correlation_id FROM {name}" for name in tables
    )
    text = (
        f"SELECT process_id, correlation_id, count(*) AS works FROM ({selects})"
        " WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL GROUP BY ALL"
    )
    return {
        (row["process_id"], row["correlation_id"]): row["works"]
        for row in _rows(session, text)
    }


class _Arrows:
    """Numbers the arrows from calls to their work."""

    def __init__(self, launched: dict[tuple[int, int], int]) -> None:
        self._launched = launched
        self._left: dict[tuple[int, int], int] = {}

    def leaving(self, row: Row) -> list[int]:
        """Return the arrows of a call; only the outermost of its id has them."""
        key = (row["process_id"], row["correlation_id"])
        if row["domain"] == "backtrace" or key not in self._launched:
            return []
        if key in self._left:
            return []
        self._left[key] = 0
        return [_arrow(key, place) for place in range(self._launched[key])]

    def arriving(self, row: Row) -> int | None:
        """Return the arrow of work that a call launched, or None without the call."""
        key = (row["process_id"], row["correlation_id"])
        if key not in self._left:
            return None
        self._left[key] += 1
        return _arrow(key, self._left[key] - 1)


def _arrow(key: tuple[int, int], place: int) -> int:
    return hash((*key, place)) & (2**63 - 1)


def _write_table(
    session: SqlSession,
    drawn: Drawn,
    sink: TraceSink,
    groups: Groups,
    arrows: _Arrows,
    last_ns: int,
) -> int:
    lanes: dict[object, Lanes] = {}
    tracks: dict[tuple[object, int], int] = {}
    count = 0
    for row in _rows(session, statement(drawn)):
        group = groups.of(row, drawn.place)
        arguments = {
            name: row[f"argument_{name}"]
            for name in drawn.arguments
            if row[f"argument_{name}"] is not None
        }
        end = row["end_ns"]
        is_open = end is None and not row["is_instant"]
        if is_open:
            arguments["never_ended"] = True
            end = max(last_ns, row["start_ns"])
        title = _title(row, drawn)
        key = (group, title)
        own = lanes.setdefault(key, Lanes(nests=drawn.nests))
        instant = row["is_instant"]
        lane = 0 if instant else own.place(row["start_ns"], end)
        if (key, lane) not in tracks:
            name = title if lane == 0 else f"{title} (lane {lane + 1})"
            tracks[key, lane] = sink.track(group, name)
        count += 1
        name = row["slice_name"] or drawn.table
        if instant:
            sink.instant(
                tracks[key, lane],
                name,
                row["start_ns"],
                kind=drawn.table,
                arguments=arguments,
            )
            continue
        sink.slice(
            tracks[key, lane],
            name,
            row["start_ns"],
            end,
            kind=drawn.table,
            arguments=arguments,
            leads_to=arrows.leaving(row) if drawn.table == "api_call" else (),
            comes_from=arrows.arriving(row) if drawn.table in LAUNCHED else None,
        )
    return count


def _title(row: Row, drawn: Drawn) -> str:
    if drawn.place is Place.STREAM and row["stream_id"] is not None:
        return f"stream {row['stream_id']} {drawn.title}"
    if drawn.place is Place.CORE:
        return f"core {row['cpu']}"
    return drawn.title


_COUNTERS = {
    "counter_sample": (
        "SELECT rank, device_id, cpu, host, time_ns, value, unit,"
        " concat_ws(' ', metric, instance) AS name FROM counter_sample"
        " WHERE time_ns IS NOT NULL AND value IS NOT NULL"
        " ORDER BY device_id, cpu, host, name, time_ns"
    ),
    "memory_event": (
        "SELECT rank, process_id, device_id, NULL::INTEGER AS cpu, time_ns,"
        " total_allocated_bytes::DOUBLE AS value, 'B' AS unit,"
        " concat_ws(' ', 'allocated', allocator, memory_kind) AS name"
        " FROM memory_event"
        " WHERE time_ns IS NOT NULL AND total_allocated_bytes IS NOT NULL"
        " ORDER BY rank, process_id, device_id, name, time_ns"
    ),
}


def _write_counters(
    session: SqlSession, run: Run, sink: TraceSink, groups: Groups
) -> int:
    count = 0
    tracks: dict[object, int] = {}
    for table, text in _COUNTERS.items():
        if not run.manifest.rows(table):
            continue
        for row in _rows(session, text):
            place = Place.STREAM if row["cpu"] is None else Place.CORE
            group = groups.of(row, place)
            name = row["name"]
            if row["cpu"] is not None:
                name = f"core {row['cpu']} {name}"
            key = (group, name)
            if key not in tracks:
                tracks[key] = sink.counter_track(group, name, row["unit"])
            sink.counter(tracks[key], row["time_ns"], row["value"])
            count += 1
    return count


def export_tables(
    run: Run,
    folder: Path,
    write: WriteTable,
    suffix: str,
    *,
    tables: tuple[str, ...] | None = None,
    limits: Limits | None = None,
) -> dict[str, int]:
    """Write tables of a run to files `<table>.<suffix>` of a folder.

    Rows have run_id and rank, as in `tracekit sql`, and times on the run's clock.

    Args:
        run: The run.
        folder: Where the files go; it is there.
        write: Writes a stream of rows.
        suffix: How the names of the files end.
        tables: The tables; None for all that have rows.
        limits: What a query may use.

    Returns:
        The number of rows of each table.
    """
    wanted = [name for name in TABLES if run.manifest.rows(name)]
    if tables is not None:
        wanted = [name for name in TABLES if name in tables]
    written = {}
    with SqlSession([run], limits=limits) as session:
        for name in wanted:
            reader = session.stream(
                f"SELECT run_id, rank, * EXCLUDE (run_id, rank) FROM {name}"
            )
            with (folder / f"{name}.{suffix}").open("wb") as file:
                write(reader, file)
            written[name] = run.manifest.rows(name)
    return written
