"""Reads the XSpace files of one profile, each of one host."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.convert.ranks import rank_in_name
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.convert.xplane.devices import DEVICE_PLANE, DeviceReader, device_row
from tracekit.convert.xplane.host import HOST_PLANES, HostReader
from tracekit.convert.xplane.space import Head, Line, Space
from tracekit.errors import UnreadableTraceError
from tracekit.schema import HOST_RANK

TASK_ENVIRONMENT = "Task Environment"
# Nanoseconds since 1970 passed this in 1973; a profile does not last that long.
_SINCE_1970 = 10**17
_FACTS = frozenset(
    {"cuda_version", "cuda_runtime_version", "cuda_driver_version", "libtpu_version"}
)
_IN_XPLANE = (
    "kernel",
    "memcpy",
    "memset",
    "graph_launch",
    "api_call",
    "operator",
    "annotation",
    "python_function",
    "memory_event",
    "counter_sample",
    "step",
)
_NOT_IN_XPLANE = {
    "sync": "XPlane records no synchronizations",
    "cuda_event": "XPlane records no CUDA events",
    "collective": "XPlane holds no sizes of collectives",
    "memory_segment": "XPlane records no segments of allocators",
    "module": "XPlane records no layers",
    "kernel_metric": "XPlane holds no counters of kernels",
    "os_call": "XPlane records no calls of the operating system",
    "cpu_slice": "XPlane records no scheduling",
    "cpu_sample": "XPlane records no call-stack samples",
    "call_stack": "XPlane records no call stacks",
    "library_call": "XPlane records no calls of other libraries",
    "reported_total": "XPlane holds no summaries",
}


def read_profile(files: list[Path], reading: Reading) -> Iterator[Batch]:
    """Yield the rows of the hosts' files; see `Reader.read`.

    Raises:
        UnreadableTraceError: A file is damaged, the files belong to several profiles,
            or two have the same rank.
    """
    folders = sorted({file.parent.name for file in files})
    if len(folders) > 1:
        raise UnreadableTraceError(
            f"{reading.name} holds {len(folders)} profiles: {', '.join(folders)}",
            hint="give the folder of one of them",
        )
    profile = _Profile(reading)
    ranks = _ranks(files, reading)
    for file, (rank, source) in zip(files, ranks, strict=True):
        yield from profile.read(file, rank, source)
    for table, reason in _NOT_IN_XPLANE.items():
        reading.log.absent[table] = reason
    for table in _IN_XPLANE:
        reading.log.absent[table] = "the capture holds no such event"


def _ranks(files: list[Path], reading: Reading) -> list[tuple[int, str]]:
    """Return rank and source of each file; without any, hosts count from 0."""
    names = [reading.name] if len(files) == 1 else [file.name for file in files]
    ranks = [rank_in_name(name) for name in names]
    told = [rank for rank in ranks if rank is not None]
    if len(told) < len(ranks):
        return [(place, "none") for place in range(len(ranks))]
    if len(set(told)) < len(told):
        raise UnreadableTraceError(
            f"two files of {reading.name} have the same rank",
            hint="rename them so that each holds its rank: rank-0, rank-1",
        )
    return [(rank, "file_name") for rank in told]


@dataclass
class _Profile:
    """The numbers given so far."""

    reading: Reading
    devices: int = 0
    processes: int = 0
    threads: int = 0
    batches: RowBatches = field(init=False)

    def __post_init__(self) -> None:
        self.batches = RowBatches(self.reading)

    def read(self, file: Path, rank: int, source: str) -> Iterator[Batch]:
        log = self.reading.log
        space = Space(file, log)
        heads = space.heads()
        host = space.hosts[0] if space.hosts else None
        log.private.hosts.update(space.hosts)
        start = _profile_start(heads)
        facts = RankFacts(source, start, set(space.hosts[:1]))
        log.ranks[rank] = facts
        if start is not None:
            log.start_utc_ns = min(start, log.start_utc_ns or start)
        process_id, self.processes = self.processes, self.processes + 1
        self.batches.add("process", rank, {"process_id": process_id, "host": host})
        self._note_messages(space, heads, rank)

        device_ids: dict[tuple[str, int], int] = {}
        for head in heads:
            found = DEVICE_PLANE.fullmatch(head.name)
            if found is not None and (found[1], int(found[2])) not in device_ids:
                device_ids[found[1], int(found[2])] = self.devices
                self.batches.add(
                    "device", HOST_RANK, device_row(head, self.devices, host)
                )
                self.devices += 1
        # Devices come before what refers to them.
        yield from self.batches.rest()
        devices = DeviceReader(rank, process_id, device_ids, self.batches, log, host)
        threads = HostReader(
            rank, process_id, device_ids, self.batches, log, self.threads
        )
        clock = _Clock(start, facts, log)
        for index, head in enumerate(heads):
            device = DEVICE_PLANE.fullmatch(head.name)
            if device is None and head.name not in HOST_PLANES:
                _skip(head, space, index, log)
                continue
            plane = space.plane(index)
            for line in plane.lines():
                origin = clock.origin(line)
                if device is not None:
                    key = (device[1], int(device[2]))
                    yield from devices.read_line(plane, line, key, origin)
                else:
                    yield from threads.read_line(plane, line, origin)
        threads.finish()
        self.threads = threads.next_thread
        yield from self.batches.rest()

    def _note_messages(self, space: Space, heads: list[Head], rank: int) -> None:
        said = [("error", text) for text in space.errors]
        said += [("warning", text) for text in space.warnings]
        for head in heads:
            dropped = head.stats.get("dropped_traces")
            if dropped is not None:
                said.append(("warning", f"{head.name}: dropped {dropped}"))
            for key in _FACTS & head.stats.keys():
                fact = {"key": key, "value": str(head.stats[key]), "source": head.name}
                self.batches.add("run_fact", rank, fact)
        for severity, text in said:
            row = {"severity": severity, "source": "profiler", "text": text}
            self.batches.add("diagnostic", rank, row)


class _Clock:
    """What the times of a file count from.

    Times of newer profilers count from the start of the profile, older ones, and some
    lines of newer ones, from 1970.
    """

    def __init__(self, start: int | None, facts: RankFacts, log: CaptureLog) -> None:
        self._start = start
        self._facts = facts
        self._log = log
        self._seen: set[bool] = set()

    def origin(self, line: Line) -> int:
        """Return what to take off the times of a line."""
        if not line.raw.events:
            return 0
        absolute = line.timestamp_ns >= _SINCE_1970
        self._seen.add(absolute)
        if self._start is not None:
            return self._start if absolute else 0
        if len(self._seen) > 1:
            self._log.diagnose(
                "warning",
                "some lines count from 1970 and others from the start of the profile, "
                "which was not recorded: times of the two cannot be compared",
            )
        self._facts.origin_utc_ns = 0 if self._seen == {True} else None
        return 0


def _profile_start(heads: list[Head]) -> int | None:
    for head in heads:
        start = head.stats.get("profile_start_time")
        if head.name == TASK_ENVIRONMENT and isinstance(start, int) and start > 0:
            return start
    return None


def _skip(head: Head, space: Space, index: int, log: CaptureLog) -> None:
    if head.name == TASK_ENVIRONMENT:
        return
    events = sum(len(line.raw.events) for line in space.plane(index).lines())
    if events:
        log.skip(f"events of the plane {head.name}", "not read", events)
