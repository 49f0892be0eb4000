"""Gives processes, threads and GPUs of an export their dense ids, and ranks.

`globalTid` holds the thread id in bits 0-23, the process id in bits 24-47, and the
machine in the rest. A process is told by all bits from 24 up: two machines may use
one process id.
"""

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tracekit.convert.distinct import map_distinct
from tracekit.convert.nsys.definitions import definitions
from tracekit.convert.nsys.environment import Environment
from tracekit.convert.nsys.export import Export, resolve
from tracekit.convert.nsys.strings import Strings
from tracekit.convert.ranks import is_rank, rank_in_environment, rank_in_name
from tracekit.convert.readers.base import CaptureLog, RankFacts
from tracekit.schema import HOST_RANK

_PID_SHIFT = 24
_HOST_SHIFT = 48
_ID_MASK = 0xFFFFFF
_RANK_OF_THREAD = re.compile(r"MPI Rank (\d{1,6})")


class Identity:
    """The processes, threads and ranks of an export.

    Args:
        export: The export.
        strings: Its strings.
        environment: What may be known of its environment.
        name: Name of the capture, for the rank pattern.
        log: Takes the ranks.
    """

    def __init__(
        self,
        export: Export,
        strings: Strings,
        environment: Environment,
        name: str,
        log: CaptureLog,
    ) -> None:
        self._log = log
        self._hosts = {
            vid >> _HOST_SHIFT: host for vid, host in environment.hosts.items()
        }
        self._names = {
            row["globalPid"] >> _PID_SHIFT: row["name"]
            for row in definitions(
                export, "PROCESSES", log, integers="globalPid", texts="name"
            )
            if row["globalPid"] is not None
        }
        self._threads = {
            row["globalTid"]: row["nameId"]
            for row in definitions(
                export, "ThreadNames", log, integers="globalTid nameId"
            )
            if row["globalTid"] is not None
        }
        self._strings = strings
        self._by_thread_name = self._ranks_of_threads(export)
        self._common_rank = self._rank_of_all(environment, name)
        self._export = export
        self._process_ids: dict[int, int] = {}
        self._thread_ids: dict[int, int] = {}
        self._thread_owner: dict[int, int] = {}
        self._given_names: dict[int, str] = {}
        self._only: int | None = None

    def process(self, key: int) -> int:
        """Return the process_id of a process key."""
        found = self._process_ids.get(key)
        if found is None:
            found = self._process_ids[key] = len(self._process_ids)
            facts = self._rank_facts(self.rank(key))
            host = self.host(key)
            if host is not None:
                facts.hosts.add(host)
        return found

    def met(self, key: int) -> int | None:
        """Return the process_id of a process that did something, or None."""
        return self._process_ids.get(key)

    def only_process(self) -> int:
        """Return the globalPid of rows that name no process.

        It is that of the one process that called the CUDA API; where several did, or
        none, 0 stands for an unknown process.
        """
        if self._only is None:
            keys: set[int] = set()
            table = resolve(self._export, "CUPTI_ACTIVITY_KIND_RUNTIME")
            if "globalTid" in self._export.columns(table):
                wanted = pa.schema([("globalTid", pa.int64())])
                for batch in self._export.batches(table, wanted):
                    tids = batch.column(0).unique().drop_null().to_pylist()
                    keys.update(tid >> _PID_SHIFT for tid in tids)
            self._only = keys.pop() << _PID_SHIFT if len(keys) == 1 else 0
            self._log.diagnose(
                "warning", "the capture does not say which process GPU work belongs to"
            )
        return self._only

    def name_thread(self, global_tid: int, name: str) -> None:
        """Give a thread the name that the program gave it."""
        self._given_names[global_tid] = name

    def thread(self, global_tid: int) -> int:
        """Return the thread_id of a globalTid."""
        found = self._thread_ids.get(global_tid)
        if found is None:
            found = self._thread_ids[global_tid] = len(self._thread_ids)
            self._thread_owner[global_tid] = self.process(global_tid >> _PID_SHIFT)
        return found

    def host(self, key: int) -> str | None:
        """Return the machine that a process ran on."""
        host = self._hosts.get(key >> (_HOST_SHIFT - _PID_SHIFT))
        if host is None and len(self._hosts) == 1:
            return next(iter(self._hosts.values()))
        return host

    def rank(self, key: int | None) -> int:
        """Return the rank of a process, 0 if nothing says one."""
        if key is not None and key in self._by_thread_name:
            return self._by_thread_name[key]
        return self._common_rank[0]

    def processes(self, column: pa.Array) -> pa.Array:
        """Map a column of globalPid or globalTid to process_id."""
        return map_distinct(
            column, lambda value: self.process(value >> _PID_SHIFT), pa.int32()
        )

    def threads(self, column: pa.Array) -> pa.Array:
        """Map a column of globalTid to thread_id."""
        return map_distinct(column, self.thread, pa.int32())

    def ranks(self, column: pa.Array) -> pa.Array:
        """Map a column of globalPid or globalTid to ranks."""
        ranks = map_distinct(
            column, lambda value: self.rank(value >> _PID_SHIFT), pa.int32()
        )
        return ranks.fill_null(self._common_rank[0])

    def default_rank(self) -> int:
        """Return the rank of what belongs to no process."""
        return self._common_rank[0]

    def only_host(self) -> str | None:
        """Return the machine, where the export speaks of one alone."""
        return next(iter(self._hosts.values())) if len(self._hosts) == 1 else None

    def several_ranks(self) -> bool:
        """Tell whether rows must be parted by rank."""
        ranks = set(self._by_thread_name.values())
        return len(ranks) > 1 or bool(ranks - {self._common_rank[0]})

    def known_processes(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (rank, row of `process`) of each process that was met."""
        for key, process_id in self._process_ids.items():
            yield (
                self.rank(key),
                {
                    "process_id": process_id,
                    # 0 stands for a process that was not recorded.
                    "os_pid": key & _ID_MASK or None,
                    "host": self.host(key),
                    "name": self._names.get(key),
                },
            )

    def known_threads(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (rank, row of `thread`) of each thread that was met."""
        for global_tid, thread_id in self._thread_ids.items():
            recorded = self._strings.text(self._threads.get(global_tid))
            yield (
                self.rank(global_tid >> _PID_SHIFT),
                {
                    "thread_id": thread_id,
                    "process_id": self._thread_owner[global_tid],
                    "os_tid": global_tid & _ID_MASK,
                    "name": self._given_names.get(global_tid, recorded),
                },
            )

    def _rank_facts(self, rank: int) -> RankFacts:
        source = self._common_rank[1]
        if rank != HOST_RANK and rank in self._by_thread_name.values():
            source = "profiler"
        return self._log.ranks.setdefault(rank, RankFacts(source=source))

    def _rank_of_all(self, environment: Environment, name: str) -> tuple[int, str]:
        rank = rank_in_name(name)
        if rank is not None:
            return rank, "file_name"
        rank = rank_in_environment(environment.variables)
        if rank is not None:
            return rank, "environment"
        return 0, "none"

    def _ranks_of_threads(self, export: Export) -> dict[int, int]:
        """Read the rank that MPI gave each process, where several differ."""
        ranks: dict[int, int] = {}
        for row in definitions(
            export, "MPI_RANKS", self._log, integers="globalTid rank"
        ):
            if row["globalTid"] is not None and is_rank(row["rank"]):
                ranks[row["globalTid"] >> _PID_SHIFT] = row["rank"]
        for global_tid, name in self._threads.items():
            match = _RANK_OF_THREAD.fullmatch(self._strings.text(name) or "")
            if match:
                ranks.setdefault(global_tid >> _PID_SHIFT, int(match[1]))
        return ranks
