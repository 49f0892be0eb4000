"""Makes a window's tables, and the views of a query's tables in that window.

`time_window` has the window of each device as disjoint spans: device_id, start_ns,
end_ns. `host_window` has that of each process: process_id (NULL for all), start_ns,
end_ns. `launched_inside` has the calls made in it: process_id, correlation_id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.errors import QueryError
from tracekit.query.module import Membership, QueryModule, Read
from tracekit.query.scope import Scope, TimePoint, TimeWindow, WindowKind
from tracekit.query.session import Session, with_reads
from tracekit.query.tables import literal, select_rows
from tracekit.schema import TABLES
from tracekit.store.run import Run

_GPU_WORK = ("kernel", "memcpy", "memset", "graph_launch")
# Views on GPU work, and those of their columns that a scope asks for; with the tables
# above they have device_id and correlation_id.
_GPU_VIEWS = {
    "gpu_activity": ("process_id", "device_id", "correlation_id", "start_ns"),
    "launch": ("process_id", "device_id", "correlation_id", "start_ns"),
    "kernel_annotation": ("process_id", "device_id", "correlation_id", "start_ns"),
}
# All views whose rows a scope picks.
_VIEWS: Mapping[str, tuple[str, ...]] = {
    **_GPU_VIEWS,
    "stable_step": ("process_id", "start_ns"),
    "user_process": ("process_id", "device_id"),
    "operator_flop": ("process_id", "start_ns"),
}
TIME_WINDOW = "time_window"
_MEMBERSHIP = {
    WindowKind.ALL: "all recorded rows",
    WindowKind.RUN: "all recorded rows",
    WindowKind.SPAN: "rows that start inside the window, whole",
    WindowKind.STEPS: "rows launched inside the window by the same process, whole",
    WindowKind.RANGE: "rows launched inside the window by the same process, whole",
}
_CLIPPED = "intervals cut to the window"
_MOST_NAMES = 5


@dataclass(frozen=True)
class Shown:
    """What a module sees of some ranks of a run.

    Attributes:
        membership: Which rows or which part of them the window takes, or None.
        absent: Why the window is empty: the ranks have no such range, or no steps.
        hint: What there is instead.
        unknown: What the window cannot tell of these ranks, or None.
    """

    membership: str | None
    absent: str | None = None
    hint: str | None = None
    unknown: str | None = None


def default_window(module: QueryModule) -> TimeWindow:
    """Return the window of a module that is asked for without one."""
    area = module.name.partition(".")[0]
    if area == "steps" and "step" in module.needs:
        return TimeWindow(WindowKind.STEPS)
    if area in ("tbd", "ranks"):
        return TimeWindow(WindowKind.RUN)
    return TimeWindow(WindowKind.ALL)


def check_scope(module: QueryModule, scope: Scope) -> None:
    """Refuse a window, a device or a process where the module has none.

    Raises:
        QueryError: Naming the option.
    """
    subjects = _subjects(module)
    names = {column for read in subjects for column in _columns(read.table)}
    timed = subjects or TIME_WINDOW in {read.table for read in module.reads}
    checks = (
        ("--window", scope.window, bool(timed), "its rows belong to no time"),
        ("--device", scope.devices, "device_id" in names, "its rows belong to no GPU"),
        (
            "--process",
            scope.processes,
            "process_id" in names,
            "its rows belong to no process",
        ),
    )
    for option, asked, possible, reason in checks:
        if asked is not None and not possible:
            raise QueryError(f"{module.name} has no {option}: {reason}")


def show_window(
    session: Session, run: Run, module: QueryModule, scope: Scope, ranks: Sequence[int]
) -> Shown:
    """Make the module's tables as the scope has them.

    Raises:
        QueryError: The window cannot be in this run.
    """
    window = scope.window or default_window(module)
    subjects = _subjects(module)
    names = {read.table for read in module.reads} - {TIME_WINDOW}
    needs_window = TIME_WINDOW in {read.table for read in module.reads}
    needs_host = window.kind not in (WindowKind.ALL, WindowKind.RUN)
    clipped = any(read.membership is Membership.CLIP for read in subjects)
    clips = clipped and needs_host
    extra = set()
    if needs_window or clips or needs_host:
        extra |= {"gpu_activity"}
    if window.kind in (WindowKind.STEPS, WindowKind.RANGE):
        extra |= {"api_call", "annotation", "stable_step"}
    session.show_rank(run, ranks, names | extra)
    absent = hint = unknown = None
    if needs_window or clips or needs_host:
        _make_windows(session, run, window, scope)
        if window.kind in (WindowKind.STEPS, WindowKind.RANGE):
            absent, hint = _absent(session, window)
            gpu = any(read.table in (*_GPU_WORK, *_GPU_VIEWS) for read in subjects)
            if gpu and not absent:
                unknown = _without_calls(run)
    for read in module.reads:
        if read.table != TIME_WINDOW:
            rows = _scoped(read, window, scope, cuts=clips)
            session.execute(f"CREATE OR REPLACE VIEW main.{read.table} AS {rows}")
    membership = None
    if subjects or needs_window:
        cut = clipped or needs_window
        membership = _CLIPPED if cut else _MEMBERSHIP[window.kind]
    return Shown(membership, absent, hint, unknown)


def _subjects(module: QueryModule) -> tuple[Read, ...]:
    return tuple(
        read for read in module.reads if read.membership is not Membership.LOOKUP
    )


def _columns(name: str) -> frozenset[str]:
    if name in TABLES:
        return TABLES[name].column_names
    return frozenset(_VIEWS.get(name, ()))


def _scoped(read: Read, window: TimeWindow, scope: Scope, *, cuts: bool) -> str:
    source = f"recorded.{read.table}"
    if read.membership is Membership.LOOKUP:
        return f"FROM {source}"
    columns = _columns(read.table)
    conditions = []
    if scope.devices is not None and "device_id" in columns:
        conditions.append(f"t.device_id IN ({_list(scope.devices)})")
    if scope.processes is not None and "process_id" in columns:
        conditions.append(f"t.process_id IN ({_list(scope.processes)})")
    if read.membership is Membership.CLIP and cuts:
        where = "".join(f" AND {condition}" for condition in conditions)
        return (
            "SELECT t.* REPLACE (greatest(t.start_ns, w.start_ns) AS start_ns,"
            f" least(t.end_ns, w.end_ns) AS end_ns) FROM {source} AS t"
            " INNER JOIN main.time_window AS w ON t.device_id = w.device_id"
            f" AND t.start_ns < w.end_ns AND t.end_ns > w.start_ns{where}"
        )
    if read.membership is not Membership.WHOLE:
        conditions += _inside(read.table, columns, window)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT t.* FROM {source} AS t{where}"


def _inside(name: str, columns: frozenset[str], window: TimeWindow) -> list[str]:
    if window.kind in (WindowKind.ALL, WindowKind.RUN):
        return []
    gpu_work = name in _GPU_WORK or name in _GPU_VIEWS
    if gpu_work and window.kind in (WindowKind.STEPS, WindowKind.RANGE):
        return [
            "(t.process_id, t.correlation_id) IN"
            " (SELECT (process_id, correlation_id) FROM main.launched_inside)"
        ]
    time = "start_ns" if "start_ns" in columns else "time_ns"
    if time not in columns:
        return []
    same = ""
    if "process_id" in columns:
        same = " AND (w.process_id IS NULL OR w.process_id = t.process_id)"
    return [
        f"EXISTS (FROM main.host_window AS w WHERE t.{time} >= w.start_ns"
        f" AND t.{time} < w.end_ns{same})"
    ]


def _make_windows(session: Session, run: Run, window: TimeWindow, scope: Scope) -> None:
    only = _only(scope)
    if window.kind in (WindowKind.ALL, WindowKind.RUN, WindowKind.SPAN):
        _make_span(session, run, window, only)
        return
    if window.kind is WindowKind.STEPS:
        instances = (
            "SELECT process_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns"
            " FROM recorded.stable_step WHERE stable GROUP BY process_id"
        )
    else:
        instances = (
            "SELECT process_id, start_ns, end_ns FROM recorded.annotation"
            f" WHERE text = {literal(window.name or '')} AND end_ns > start_ns"
        )
    _table(session, "host_window", instances)
    _table(
        session,
        "launched_inside",
        "SELECT DISTINCT a.process_id, a.correlation_id FROM recorded.api_call AS a"
        " INNER JOIN main.host_window AS w ON a.process_id = w.process_id"
        " AND a.start_ns >= w.start_ns AND a.start_ns < w.end_ns"
        " WHERE a.correlation_id IS NOT NULL",
    )
    if window.kind is WindowKind.STEPS:
        spans = (
            "SELECT g.device_id, min(w.start_ns) AS start_ns,"
            " greatest(max(w.end_ns), max(g.end_ns)"
            " FILTER (WHERE l.correlation_id IS NOT NULL)) AS end_ns"
            f" FROM (FROM recorded.gpu_activity{only}) AS g"
            " INNER JOIN main.host_window AS w ON g.process_id = w.process_id"
            " LEFT JOIN main.launched_inside AS l ON g.process_id = l.process_id"
            " AND g.correlation_id = l.correlation_id GROUP BY g.device_id"
        )
        _table(session, TIME_WINDOW, spans)
        return
    # Instances of several processes, or nested ones, may overlap.
    pairs = (
        "SELECT u.device_id AS key, w.start_ns, w.end_ns FROM main.host_window AS w"
        " INNER JOIN (SELECT DISTINCT device_id, process_id"
        f" FROM recorded.gpu_activity{only}) AS u ON w.process_id = u.process_id"
    )
    _table(session, "range_instance", pairs)
    _table(
        session,
        TIME_WINDOW,
        "SELECT key AS device_id, start_ns, end_ns FROM merged('main.range_instance')",
    )


def _absent(session: Session, window: TimeWindow) -> tuple[str | None, str | None]:
    """Return why no instance of the window was found, and what there is instead."""
    found = session.connection.execute("SELECT count(*) FROM main.host_window")
    if (found.fetchone() or (0,))[0]:
        return None, None
    rows = session.connection.execute(
        "SELECT text FROM recorded.annotation WHERE text IS NOT NULL AND end_ns >"
        " start_ns GROUP BY text ORDER BY"
        f" jaro_winkler_similarity(text, {literal(window.name or '')}) DESC, text"
        f" LIMIT {_MOST_NAMES + 1}"
    ).fetchall()
    names = ", ".join(f"`{text}`" for (text,) in rows[:_MOST_NAMES])
    more = " and others" if len(rows) > _MOST_NAMES else ""
    hint = f"its ranges are {names}{more}" if rows else "it has no ranges"
    if window.kind is WindowKind.STEPS:
        return "this run has no steps: none was annotated", hint
    return f"this run has no range `{window.name}`", hint


def _without_calls(run: Run) -> str | None:
    if run.manifest.rows("api_call") or not any(map(run.manifest.rows, _GPU_WORK)):
        return None
    return (
        f"{run.run_id} has no API calls, so what was launched inside the window is "
        "not known"
    )


def _make_span(session: Session, run: Run, window: TimeWindow, only: str) -> None:
    """Make a window of one span; an open end is that of the device's activity."""
    start: int | None = None
    end: int | None = None
    if window.kind is WindowKind.RUN:
        start, end = _activity(session, run) or (None, None)
    elif window.kind is WindowKind.SPAN:
        start, end = _resolved(session, run, window)
    first = "min(start_ns)" if start is None else f"{start}::BIGINT"
    last = "max(end_ns)" if end is None else f"{end}::BIGINT"
    # A device whose work lies on the other side of the given end has an empty window.
    if start is None and end is not None:
        first = f"least({first}, {last})"
    elif end is None and start is not None:
        last = f"greatest({last}, {first})"
    _table(
        session,
        TIME_WINDOW,
        f"SELECT device_id, {first} AS start_ns, {last} AS end_ns"
        f" FROM recorded.gpu_activity{only} GROUP BY device_id",
    )
    _table(
        session,
        "host_window",
        "SELECT NULL::INTEGER AS process_id,"
        f" {-(2**62) if start is None else start}::BIGINT AS start_ns,"
        f" {2**62 if end is None else end}::BIGINT AS end_ns",
    )


def _table(session: Session, name: str, select: str) -> None:
    session.execute(f"CREATE OR REPLACE TABLE main.{name} AS {select}")


def _activity(session: Session, run: Run) -> tuple[int, int] | None:
    """Return the first and last GPU activity of all ranks, on their common clock."""
    window = run.manifest.window
    if window is None:
        return None
    # The manifest has them on each rank's own clock.
    if len(run.ranks) == 1:
        return window.start_ns, window.end_ns
    selects = " UNION ALL ".join(
        f"SELECT start_ns, end_ns FROM ({select_rows(run, TABLES[name], run.ranks)})"
        for name in _GPU_WORK
    )
    found = session.connection.execute(
        f"SELECT min(start_ns), max(end_ns) FROM ({selects})"
    ).fetchone()
    return None if found is None or found[0] is None else (found[0], found[1])


def _resolved(
    session: Session, run: Run, window: TimeWindow
) -> tuple[int | None, int | None]:
    def ns(point: TimePoint | None) -> int | None:
        if point is None or not point.relative:
            return None if point is None else point.ns
        activity = _activity(session, run)
        if activity is None:
            raise QueryError(
                f"the window {window} counts from the first GPU activity, and this "
                "run has none"
            )
        return activity[0] + point.ns

    start, end = ns(window.start), ns(window.end)
    if start is not None and end is not None and end <= start:
        raise QueryError(f"the window {window} ends before it begins")
    return start, end


def _only(scope: Scope) -> str:
    conditions = []
    if scope.devices is not None:
        conditions.append(f"device_id IN ({_list(scope.devices)})")
    if scope.processes is not None:
        conditions.append(f"process_id IN ({_list(scope.processes)})")
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _list(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers) or "NULL"


def all_tables(module: QueryModule) -> frozenset[str]:
    """Return the tables that a module reads, directly or through views."""
    names = (read.table for read in module.reads if read.table != TIME_WINDOW)
    return with_reads(names) & TABLES.keys()
