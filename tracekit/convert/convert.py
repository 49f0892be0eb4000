"""Turns captures into a run: reads, checks, redacts, writes beside and renames."""

import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tracekit._version import __version__
from tracekit.convert.beside import HeldSamples
from tracekit.convert.bundle import Found, found_in
from tracekit.convert.capture import Fingerprint, check_exists, fingerprint, stem
from tracekit.convert.clocks import Align, ClockAligner
from tracekit.convert.counters.devices import filled
from tracekit.convert.counters.held import HeldCounters
from tracekit.convert.numbering import Numbering
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts, Reading
from tracekit.convert.redaction import Redact, Redactor
from tracekit.convert.refusal import same_rank
from tracekit.convert.steps import StepFinder
from tracekit.convert.torch.execution_join import ExecutionTraces
from tracekit.convert.validity import part
from tracekit.convert.workload.record import is_record
from tracekit.convert.workload.told import ToldSteps
from tracekit.errors import UsageError
from tracekit.schema import HOST_RANK, TABLES, Scope
from tracekit.store.manifest import Manifest, Note, Rank, Source, Window
from tracekit.store.run import Run, open_run
from tracekit.store.run_writer import RunWriter

_GPU_TABLES = frozenset({"kernel", "memcpy", "memset", "graph_launch"})
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._-]+")
_LONGEST_NAME = 80
# What no table of events can do without, so `--tables` does not leave it out.
_ALWAYS = frozenset(
    {"device", "process", "thread", "context", "stream", "clock", "run_fact"}
) | {"rejected", "diagnostic"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is wanted of a conversion.

    Attributes:
        tables: The tables wanted; those that describe devices, processes and the
            capture itself are always made.
        start_ns: Rows that start earlier are left out; None for no limit.
        end_ns: Rows that start here or later are left out; None for no limit.
        redact: What is taken out for sharing.
        align: How the clocks of several ranks are put onto one.
        replace: Whether a run at the destination may be replaced.
        on_rows: Called with the number of rows so far.
    """

    tables: frozenset[str] = frozenset(TABLES)
    start_ns: int | None = None
    end_ns: int | None = None
    redact: Redact = Redact.NOTHING
    align: Align = Align.UTC
    replace: bool = False
    on_rows: Callable[[int], None] = field(default=lambda _: None)


def convert(
    captures: Sequence[Path], destination: Path, request: Request | None = None
) -> Run:
    """Convert captures into one run at `destination`.

    Several captures are the ranks of one job; counters are joined to their kernels,
    execution traces to their operators.

    Raises:
        UnreadableTraceError: A capture is missing, damaged or of no known format, or
            two captures have the same rank.
        UsageError: Something is at the destination already.
        OutputError: The run cannot be written.
    """
    request = request or Request()
    _check_tables(request.tables)
    for capture in captures:
        check_exists(capture)
    with (
        RunWriter(destination, replace=request.replace) as writer,
        ExitStack() as open_,
    ):
        hashing = open_.enter_context(ThreadPoolExecutor(1))
        hashes = hashing.submit(fingerprint, list(captures))
        conversion = _Conversion(writer, request)
        # What records say of steps is known before the first step.
        for capture in sorted(captures, key=is_record, reverse=True):
            # Writers turn their own failures into errors that name the destination.
            for found in found_in(capture, writer.scratch, destination):
                conversion.read(found)
        conversion.finish(stem(captures[0]), hashes.result)
    return open_run(destination)


def _check_tables(tables: frozenset[str]) -> None:
    unknown = sorted(tables - TABLES.keys())
    if unknown:
        raise UsageError(
            f"there is no table `{unknown[0]}`",
            hint=f"the tables are {', '.join(TABLES)}",
        )


class _Conversion:
    """The state of one conversion."""

    def __init__(self, writer: RunWriter, request: Request) -> None:
        self._writer = writer
        self._request = request
        self._wanted = request.tables | _ALWAYS
        self._read = self._wanted
        if "step" in self._wanted:
            # Steps are found in annotations.
            self._read |= {"annotation"}
        if "operator" in self._wanted:
            # They get what an execution trace knows of them.
            self._read |= {"execution_node"}
        if request.align is Align.COLLECTIVES:
            self._read |= {"collective"}
        self._clocks = ClockAligner()
        self._counters = HeldCounters()
        self._executions = ExecutionTraces()
        self._samples = HeldSamples()
        self._facts: set[str] = set()
        self._numbering = Numbering()
        self._steps = StepFinder()
        self._recorded_steps = False
        self._told = ToldSteps()
        self._logs: list[CaptureLog] = []
        self._formats: list[str] = []
        self._ranks: dict[int, RankFacts] = {}
        self._owner: dict[int, str] = {}
        self._rejected: Counter[tuple[str, str]] = Counter()
        self._outside = Counter[str]()
        self._used_devices: set[int] = set()
        self._device_names: dict[int, str] = {}
        # Written at the end: counters may tell more of a GPU than its timeline.
        self._devices: list[tuple[int, pa.RecordBatch]] = []
        self._window: tuple[int, int] | None = None
        self._rows = 0
        self._redactor = Redactor(request.redact)

    def read(self, found: Found) -> None:
        """Write the rows of one capture."""
        reader, log = found.reader, CaptureLog()
        for damage in found.damages:
            log.repair("compression", damage)
            log.diagnose("warning", f"{found.name} is damaged or cut short: {damage}")
        for loss in found.lost:
            log.skip("tar", loss)
            log.diagnose("warning", f"the tar file is cut short or damaged: {loss}")
        if found.skipped:
            log.skip("file", "beside the captures, and none itself", found.skipped)
        if found.reports:
            log.skip("report", "its SQLite export lies beside it", found.reports)
        self._logs.append(log)
        self._formats.append(reader.name)
        self._numbering.begin_capture()
        reading = Reading(
            name=found.name,
            tables=self._read,
            log=log,
            scratch=self._writer.scratch,
        )
        batches = reader.read(found.path, reading)
        known = 0
        for batch in batches:
            if len(log.private) > known:
                known = len(log.private)
                self._redactor.learn(log.private)
            if batch.table == "execution_node":
                self._executions.hold(log, batch, found.name)
            else:
                self._take(batch, log)
        for rank, facts in log.ranks.items():
            if rank in self._ranks:
                raise same_rank(rank, self._owner[rank], found.name)
            self._ranks[rank] = facts
            self._owner[rank] = found.name

    def finish(self, name: str, content_of: Callable[[], Fingerprint]) -> None:
        """Write what is known only now, and publish the run."""
        self._executions.claim(self._ranks)
        self._write_steps()
        has_timeline = any(log.has_timeline for log in self._logs)
        if not self._ranks:
            # Times of samples alone are UTC.
            self._ranks[0] = RankFacts(origin_utc_ns=None if has_timeline else 0)
        for log, batch in self._samples.release(
            self._ranks, self._numbering, self._facts, has_timeline=has_timeline
        ):
            self._place(batch, log)
        self._executions.release(
            self._ranks, self._writer, self._redactor.rows, self._write
        )
        counted = self._counters.devices()
        for rank, rows in self._devices:
            self._write("device", rank, filled(rows, counted))
        joined = self._counters.release(
            self._writer.complete,
            min(self._ranks),
            self._device_names,
            self._write,
            has_devices=bool(self._devices),
        )
        self._write_clocks()
        self._write_diagnoses()
        tables = self._writer.close_tables()
        content = content_of()
        logs = sorted(self._logs, key=lambda log: not log.has_timeline)
        first = logs[0]
        start = min(
            (log.start_utc_ns for log in self._logs if log.start_utc_ns is not None),
            default=None,
        )
        name = _run_name(self._redactor.name(name))
        manifest = Manifest(
            tracekit_version=__version__,
            run_id=f"{_stamp(start)}-{name}-{content.sha256[:8]}",
            name=name,
            source=Source(
                format="+".join(sorted(set(self._formats))),
                files=[
                    msgspec.structs.replace(file, name=self._redactor.name(file.name))
                    for file in content.files
                ],
                sha256=content.sha256,
                tools=first.tools,
                schema_version=first.schema_version,
            ),
            command=self._text(first.command),
            settings={
                key: self._text(value) or "" for key, value in first.settings.items()
            },
            gpus=[
                self._device_names.get(device, "unknown GPU")
                for device in sorted(self._used_devices)
            ],
            driver_version=next(
                (log.driver_version for log in logs if log.driver_version), None
            ),
            ranks=[
                Rank(
                    rank=rank,
                    origin_utc_ns=facts.origin_utc_ns,
                    source=facts.source,
                    hosts=sorted(self._redactor.host(host) for host in facts.hosts),
                )
                for rank, facts in sorted(self._ranks.items())
            ],
            window=None
            if self._window is None
            else Window(start_ns=self._window[0], end_ns=self._window[1]),
            tables=tables,
            absent=self._absent(tables.keys()),
            rejected=_notes(self._rejected),
            skipped=_notes(self._all("skipped") + self._left_out()),
            repaired=_notes(self._all("repaired")),
            left_behind=_notes(self._all("left_behind")),
            joined=joined,
        )
        self._writer.publish(manifest)

    def _write_steps(self) -> None:
        """Write the steps that annotations name, else those that a record tells."""
        if "step" not in self._wanted or self._recorded_steps:
            return
        found = self._steps.rows()
        for rank, steps in found.items():
            self._write("step", rank, self._told.tell(_rows("step", steps)))
        own = [] if found else self._told.own_steps(self._ranks)
        if not own:
            return
        if not self._ranks:
            self._ranks[0] = RankFacts(origin_utc_ns=0)
            self._write("process", 0, _rows("process", self._told.describe()))
        self._write("step", min(self._ranks), _rows("step", own))

    def _take(self, batch: Batch, log: CaptureLog) -> None:
        table = TABLES[batch.table]
        if batch.rows.schema.names != table.arrow.names:
            raise AssertionError(f"a reader gave {batch.table} other columns")
        if log.is_beside:
            self._samples.hold(log, batch)
        elif not log.has_timeline:
            if not self._told.hold(log, batch):
                self._counters.hold(log, batch)
        else:
            if batch.table == "run_fact":
                self._facts.update(batch.rows.column("key").unique().to_pylist())
            self._place(batch, log)

    def _place(self, batch: Batch, log: CaptureLog) -> None:
        table = TABLES[batch.table]
        rows = batch.rows
        if table.name == "device":
            rows = self._numbering.new_devices(rows)
        rows = self._numbering.renumber(rows)
        if table.name == "device":
            self._note_devices(rows)
        rows, rejected = part(table, rows)
        if rejected.num_rows:
            for found in rejected.column("reason").value_counts().to_pylist():
                self._rejected[table.name, found["values"]] += found["counts"]
            self._write("rejected", batch.rank, rejected)
        rows = self._in_time(table.name, rows)
        if table.name == "annotation":
            self._steps.look(batch.rank, rows)
        elif table.name == "step":
            self._recorded_steps = True
            rows = self._told.tell(rows)
        elif table.name == "process":
            self._told.look(rows)
        elif table.name == "collective":
            self._clocks.look(batch.rank, rows)
        elif table.name == "kernel_metric":
            self._counters.hold(log, batch._replace(rows=rows))
            return
        elif table.name == "device":
            self._devices.append((batch.rank, rows))
            return
        elif table.name in _GPU_TABLES:
            self._note_activity(rows)
        if table.scope is Scope.RANK and batch.rank != HOST_RANK:
            log.ranks.setdefault(batch.rank, RankFacts())
        self._write(batch.table, batch.rank, rows)
        self._rows += rows.num_rows
        self._request.on_rows(self._rows)

    def _write(self, table: str, rank: int, rows: pa.RecordBatch) -> None:
        if table in self._wanted:
            self._writer.append(table, rank, self._redactor.rows(table, rows))

    def _in_time(self, table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Leave out rows that start outside of the wanted time."""
        time = TABLES[table].time
        start, end = self._request.start_ns, self._request.end_ns
        if time is None or (start is None and end is None):
            return rows
        times = rows.column(time)
        inside = pc.is_valid(times)
        if start is not None:
            inside = pc.and_(inside, pc.greater_equal(times, start))
        if end is not None:
            inside = pc.and_(inside, pc.less(times, end))
        kept = rows.filter(pc.fill_null(inside, fill_value=False))
        self._outside[table] += rows.num_rows - kept.num_rows
        return kept

    def _note_activity(self, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        start = pc.min(rows.column("start_ns")).as_py()
        end = pc.max(rows.column("end_ns")).as_py()
        if self._window is not None:
            start, end = min(start, self._window[0]), max(end, self._window[1])
        self._window = (start, end)
        devices = rows.column("device_id").unique().drop_null().to_pylist()
        self._used_devices.update(devices)

    def _note_devices(self, rows: pa.RecordBatch) -> None:
        for row in rows.to_pylist():
            if row["name"]:
                self._device_names[row["device_id"]] = row["name"]

    def _write_clocks(self) -> None:
        origins = {rank: facts.origin_utc_ns for rank, facts in self._ranks.items()}
        offsets = self._clocks.offsets(origins, self._request.align)
        for rank, facts in sorted(self._ranks.items()):
            host = min(facts.hosts) if facts.hosts else None
            clock = {"host": host, **offsets[rank]._asdict()}
            self._write("clock", rank, _rows("clock", [clock]))

    def _write_diagnoses(self) -> None:
        rank = min(self._ranks)
        rows = [
            {
                "severity": diagnosis.severity,
                "source": "converter",
                "text": diagnosis.text,
            }
            for log in self._logs
            for diagnosis in log.diagnoses
        ]
        self._write("diagnostic", rank, _rows("diagnostic", rows))

    def _absent(self, present: Container[str]) -> dict[str, str]:
        reasons: dict[str, str] = {}
        # What a timeline lacks is told before what counters alone lack.
        for log in sorted(self._logs, key=lambda log: not log.has_timeline):
            for table, reason in log.absent.items():
                reasons.setdefault(table, reason)
        for table in TABLES.keys() - self._wanted:
            reasons[table] = "left out by --tables"
        return {
            table: reasons[table]
            for table in TABLES
            if table in reasons and table not in present
        }

    def _left_out(self) -> Counter[tuple[str, str]]:
        reason = "starts outside of --time"
        return Counter(
            {(table, reason): count for table, count in self._outside.items() if count}
        )

    def _all(self, kind: str) -> Counter[tuple[str, str]]:
        total: Counter[tuple[str, str]] = Counter()
        for log in self._logs:
            total += getattr(log, kind)
        return total

    def _text(self, text: str | None) -> str | None:
        return None if text is None else self._redactor.message(text)


def _rows(table: str, rows: Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    schema = TABLES[table].arrow
    full = [{name: row.get(name) for name in schema.names} for row in rows]
    return pa.RecordBatch.from_pylist(full, schema=schema)


def _notes(counts: Counter[tuple[str, str]]) -> list[Note]:
    return [
        Note(what=what, count=count, reason=reason)
        for (what, reason), count in sorted(counts.items())
        if count
    ]


def _stamp(start_utc_ns: int | None) -> str:
    if start_utc_ns is None:
        return "00000000t000000z"
    try:
        start = datetime.fromtimestamp(start_utc_ns // 10**9, UTC)
    except (OverflowError, ValueError, OSError):
        return "00000000t000000z"
    return start.strftime("%Y%m%dt%H%M%Sz")


def _run_name(stem_: str) -> str:
    name = _NOT_IN_NAMES.sub("-", stem_.lower()).strip("-._")
    return name[:_LONGEST_NAME] or "capture"
