"""The processes, threads, GPUs and hosts that the tracks of a trace stand under."""

from collections import Counter
from typing import Any

from tracekit.api.tracks import Place
from tracekit.query.engine import SqlSession
from tracekit.report.trace import Group
from tracekit.store.run import Run

Row = dict[str, Any]

# Where numbers of the operating system are missing or met twice, as in jobs of several
# hosts or containers, numbers above those that Linux gives stand in.
_MADE_UP = 1 << 23


class Groups:
    """Finds the group of a row."""

    def __init__(self, session: SqlSession, run: Run) -> None:
        self._several_ranks = len(run.ranks) > 1
        self._processes = {
            row["process_id"]: row
            for row in session.run("SELECT * FROM process").table.to_pylist()
        }
        self._threads = {
            row["thread_id"]: row
            for row in session.run("SELECT * FROM thread").table.to_pylist()
        }
        self._devices = {
            row["device_id"]: row
            for row in session.run("SELECT * FROM device").table.to_pylist()
        }
        self._pids = _unique(self._processes, "os_pid")
        self._tids = _unique(self._threads, "os_tid")
        self._known: dict[object, Group] = {}

    def of(self, row: Row, place: Place) -> Group:
        """Return the group of a row; the same rows have the same one."""
        names = ("rank", "process_id", "thread_id", "device_id", "host")
        key = (place, *(row.get(name) for name in names))
        if key not in self._known:
            make = {
                Place.THREAD: self._thread,
                Place.STREAM: self._gpu,
                Place.CORE: self._cores,
            }[place]
            self._known[key] = make(row)
        return self._known[key]

    def _process(self, row: Row) -> Group:
        number: Any = row.get("process_id")
        known = self._processes.get(number, {})
        rank = f"rank {row['rank']} " if self._several_ranks else ""
        name = known.get("name") or "process"
        pid = known.get("os_pid")
        shown = f"{rank}{name}" if pid is None else f"{rank}{name} {pid}"
        made_up = _MADE_UP if number is None else _MADE_UP + 1 + number
        return Group(name=shown, order=_order(row), pid=self._pids.get(number, made_up))

    def _thread(self, row: Row) -> Group:
        process = self._process(row)
        number = row.get("thread_id")
        if number is None:
            return process
        known = self._threads.get(number, {})
        name = known.get("name") or "thread"
        tid = known.get("os_tid")
        return Group(
            name=name if tid is None else f"{name} {tid}",
            order=number,
            tid=self._tids.get(number, _MADE_UP + number),
            parent=process,
        )

    def _gpu(self, row: Row) -> Group:
        number = row.get("device_id")
        known = self._devices.get(number, {})
        name = "GPU" if number is None else f"GPU {number}"
        if known.get("name"):
            name += f" {known['name']}"
        process = row.get("process_id")
        if process is not None and len(self._processes) > 1:
            name += f", {self._process(row).name}"
        return Group(name=name, order=_order(row) + 1 + (number or 0))

    def _cores(self, row: Row) -> Group:
        host = row.get("host")
        return Group(name=f"CPU cores of {host}" if host else "CPU cores", order=-1)


def _order(row: Row) -> int:
    """Return a place that keeps the GPUs of a rank behind its processes."""
    rank, process = int(row["rank"]), int(row.get("process_id") or 0)
    return (max(rank, 0) * 64 + process) * 64


def _unique(rows: dict[int, Row], name: str) -> dict[int, int]:
    """Return a number for each row: the operating system's, where it is unique."""
    met = Counter(row[name] for row in rows.values())
    return {
        number: row[name]
        if row[name] is not None and 0 < row[name] < _MADE_UP and met[row[name]] == 1
        else _MADE_UP + number
        for number, row in rows.items()
    }
