"""The native CUPTI collector: a folder with a file a process, or one such file."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from tracekit.convert.cupti.capture_file import (
    SUFFIX,
    CaptureFile,
    is_capture_file,
    open_capture_file,
)
from tracekit.convert.cupti.process import Process
from tracekit.convert.peaks import peak_fp32
from tracekit.convert.ranks import rank_in_environment, rank_in_name
from tracekit.convert.readers.base import Batch, RankFacts, Reading
from tracekit.convert.row_batches import RowBatches
from tracekit.schema import HOST_RANK
from tracekit.tools.variables import is_allowed_variable

_GPU_WORK = frozenset({"kernel", "memcpy", "memset", "graph_launch"})
_ABSENT = {
    "graph_launch": "the kernels inside of graphs are recorded instead",
    "sync": "recorded with tracekit collect --with cupti --preset sync",
    "memory_event": "recorded with tracekit collect --with cupti --preset memory",
    "cuda_event": "recorded with tracekit collect --with cupti --preset calls",
    "operator": "CUPTI does not record it",
    "os_call": "CUPTI does not record it",
    "library_call": "CUPTI does not record it",
    "cpu_sample": "CUPTI does not record it",
    "kernel_metric": "a second run reads counters: tracekit collect --counters",
    "annotation": "the program has no NVTX ranges, or NVTX reached another libcupti",
}


class CuptiReader:
    """Reads what `tracekit collect --with cupti` records."""

    name: ClassVar[str] = "cupti"

    def accepts(self, capture: Path) -> bool:
        """Tell whether it is such a file, or a folder that holds one."""
        if capture.is_dir():
            return any(is_capture_file(path) for path in capture.glob(f"*{SUFFIX}"))
        return is_capture_file(capture)

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`.

        Raises:
            UnreadableTraceError: A file is cut in its header.
        """
        paths = (
            [
                path
                for path in sorted(capture.glob(f"*{SUFFIX}"))
                if is_capture_file(path)
            ]
            if capture.is_dir()
            else [capture]
        )
        # All of them, so that every name is known before the first row.
        files = [open_capture_file(path) for path in paths]
        yield from _Capture(files, reading).read()


class _Capture:
    """The processes of one capture, and what they share."""

    def __init__(self, files: list[CaptureFile], reading: Reading) -> None:
        self._files = files
        self._reading = reading
        self._log = reading.log
        self._rows = RowBatches(reading)
        self._described: dict[str, int] = {}
        self._unnamed: dict[tuple[int, int], int] = {}
        self._device_ids: dict[tuple[int, int], int] = {}
        self._devices: dict[int, dict[str, Any]] = {}
        self._threads: dict[tuple[int, int], int] = {}
        for file in files:
            if "host" in file.facts:
                self._log.private.hosts.add(file.facts["host"])

    def read(self) -> Iterator[Batch]:
        seen: set[str] = set()
        self._tell_facts()
        processes = [self._process(*item) for item in enumerate(self._files)]
        for process in processes:
            process.learn(partial(self._describe, process.process_id))
        for process in processes:
            for batch in process.events():
                if batch.table in self._reading.tables:
                    seen.add(batch.table)
                    yield batch
                yield from self._rows.full()
            self._tell_losses(process)
        yield from self._rest()
        seen |= self._rows.tables
        for table, reason in _ABSENT.items():
            if table not in seen:
                self._log.absent[table] = reason
        if not seen & _GPU_WORK:
            self._log.diagnose("warning", "no GPU activity was recorded")

    def _process(self, number: int, file: CaptureFile) -> Process:
        rank = self._rank(file)
        facts = file.facts
        self._rows.add(
            "process",
            rank,
            {
                "process_id": number,
                "os_pid": _number(facts.get("pid")),
                "host": facts.get("host"),
                "name": facts.get("program"),
            },
        )
        for name, value in sorted(file.variables.items()):
            if is_allowed_variable(name):
                fact = {"key": f"env.{name}", "value": value, "source": "environment"}
                self._rows.add("run_fact", rank, fact)
        return Process(
            file,
            number,
            rank,
            device_of=lambda ordinal: self._device(number, ordinal),
            thread_of=lambda tid: self._thread(number, rank, tid),
            rows=self._rows,
        )

    def _rank(self, file: CaptureFile) -> int:
        source = "file_name"
        rank = rank_in_name(self._reading.name)
        if rank is None:
            source, rank = "environment", rank_in_environment(file.variables)
        if rank is None:
            source, rank = "none", 0
        facts = self._log.ranks.setdefault(
            # CUPTI's times are those of CLOCK_REALTIME.
            rank,
            RankFacts(source=source, origin_utc_ns=0),
        )
        if "host" in file.facts:
            facts.hosts.add(file.facts["host"])
        return rank

    def _device(self, number: int, ordinal: int) -> int:
        """Return a device's id; without a description it is this process's own."""
        key = (number, ordinal)
        if key not in self._device_ids:
            self._device_ids[key] = len(self._devices)
            self._devices[len(self._devices)] = {}
        return self._device_ids[key]

    def _describe(self, number: int, row: dict[str, Any]) -> None:
        uuid = f"{row['uuid_high'] % 2**64:016x}{row['uuid_low'] % 2**64:016x}"
        key = (number, row["ordinal"])
        if int(uuid, 16) and uuid in self._described and key not in self._device_ids:
            self._device_ids[key] = self._described[uuid]
            return
        device_id = self._device(*key)
        self._described[uuid] = device_id
        self._devices[device_id] = _device_row(row, uuid)

    def _thread(self, number: int, rank: int, tid: int) -> int:
        key = (number, tid)
        if key not in self._threads:
            self._threads[key] = len(self._threads)
            self._rows.add(
                "thread",
                rank,
                {
                    "thread_id": self._threads[key],
                    "process_id": number,
                    "os_tid": tid,
                },
            )
        return self._threads[key]

    def _tell_facts(self) -> None:
        for file in self._files:
            version = file.facts.get("cupti_version")
            if version:
                self._log.tools.setdefault("CUPTI", version)
        self._log.command = next(
            (f.facts["program"] for f in self._files if "program" in f.facts), None
        )
        starts = [_number(file.facts.get("start_utc_ns")) for file in self._files]
        self._log.start_utc_ns = min((s for s in starts if s is not None), default=None)

    def _tell_losses(self, process: Process) -> None:
        file = process.file
        for refusal in process.refusals:
            self._log.diagnose("error", f"{file.name}: {refusal}")
        if process.dropped:
            self._log.skip(
                "record", "dropped by CUPTI, no buffer was free", process.dropped
            )
            self._log.diagnose(
                "warning",
                f"{file.name}: CUPTI dropped {process.dropped:,} records because no "
                "buffer was free: counts and sums are lower bounds",
            )
        if process.unpaired:
            self._log.skip(
                "marker", "the end of a range that has no start", process.unpaired
            )
        for kind, count in process.incomplete.items():
            self._log.skip(kind, "its description in the file lacks a column", count)
        if file.unread:
            self._log.skip("byte", "after the last whole block", file.unread)
            self._log.diagnose(
                "warning",
                f"{file.name} is cut: the process ended while it was written, and "
                "what came after the last flush is missing",
            )

    def _rest(self) -> Iterator[Batch]:
        for device_id, row in self._devices.items():
            self._rows.add("device", HOST_RANK, {"device_id": device_id, **row})
        yield from self._rows.rest()


def _device_row(row: dict[str, Any], uuid: str) -> dict[str, Any]:
    # Clock in kHz, bandwidth in kB/s.
    clock, major, minor = (
        row["clock_khz"],
        row["capability_major"],
        row["capability_minor"],
    )
    peak = peak_fp32((major, minor), row["sm_count"], clock * 1000)
    parts = (uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:])
    return {
        "name": row["name"],
        "uuid": "-".join(parts) if int(uuid, 16) else None,
        "compute_capability": f"{major}.{minor}",
        "sm_count": row["sm_count"],
        "max_clock_hz": clock * 1000,
        "memory_bytes": row["memory_bytes"],
        "memory_bandwidth": row["bandwidth_kb_s"] * 1000,
        "l2_cache_bytes": row["l2_cache_bytes"],
        "warp_size": row["warp_size"],
        "max_warps_per_sm": row["max_warps_per_sm"],
        "max_blocks_per_sm": row["max_blocks_per_sm"],
        "max_threads_per_block": row["max_threads_per_block"],
        "registers_per_sm": row["registers_per_sm"],
        "shared_bytes_per_sm": row["shared_bytes_per_sm"],
        "peak_fp32_flops": None if peak is None else peak.flops,
        "peak_fp32_derivation": None if peak is None else peak.derivation,
    }


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 20 else None
