"""Samples the machine beside a collector: CPU time, GPU clocks, power and memory."""

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from tracekit._version import __version__
from tracekit.collect.cpus import CpuTimes, ProcessTree, cpu_times, usable_cores
from tracekit.collect.gpus import Gpus

SUFFIX = ".samples.jsonl"
FORMAT = 1
PERIOD_S = 0.1
# Looking for new processes reads every process of the machine.
_LOOKS = 10


class Sampler:
    """Writes samples into a file from a thread of this process, until it is closed.

    A context manager. docs/formats/samples.md describes the file.

    Args:
        path: The file.
        root: Returns the process id of the program; None before it has started.
        period_s: Seconds from one sample to the next.
    """

    def __init__(
        self,
        path: Path,
        root: Callable[[], int | None],
        period_s: float = PERIOD_S,
    ) -> None:
        self._path = path
        self._root = root
        self._period_s = period_s
        self._ended = threading.Event()
        self._tree = ProcessTree()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._facts: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def note(self, facts: Mapping[str, str]) -> None:
        """Add facts about the run, which are written at the end."""
        self._facts.update(facts)

    def _run(self) -> None:
        gpus = Gpus()
        # What cannot be written does not keep the program from being traced.
        with suppress(OSError), self._path.open("wb") as file:
            file.write(_line(self._header(gpus)))
            self._sample(gpus, file.write)
            file.write(_line({"facts": self._facts}))
        gpus.close()

    def _header(self, gpus: Gpus) -> dict[str, Any]:
        first = cpu_times(self._tree)
        facts = {"cpu_cores": f"{usable_cores():g}"}
        if gpus.driver:
            facts["driver_version"] = gpus.driver
        return {
            "tracekit_samples": FORMAT,
            "tracekit": __version__,
            "host": socket.gethostname(),
            "period_ns": round(self._period_s * 1e9),
            "cpus": len(first.cores_s),
            "gpus": gpus.found,
            "no_gpus": gpus.failure,
            "facts": facts,
        }

    def _sample(self, gpus: Gpus, write: Callable[[bytes], object]) -> None:
        begin, used = time.monotonic(), time.thread_time()
        root, number, last = None, 0, False
        while True:
            if root is None:
                root = self._root()
                if root is not None:
                    self._tree.add(root)
            if number % _LOOKS == 0:
                self._tree.look_for_children()
            before = time.time_ns()
            times = cpu_times(self._tree)
            sampled = gpus.sample()
            # Its time is the middle of the reading.
            write(_line(_row((before + time.time_ns()) // 2, times, sampled)))
            if last:
                break
            number += 1
            # Of what the machine was too slow for, nothing is made up for.
            number = max(number, int((time.monotonic() - begin) / self._period_s))
            due = begin + number * self._period_s - time.monotonic()
            last = self._ended.wait(max(due, 0))
        self._facts["sampler_cpu_s"] = f"{time.thread_time() - used:.3f}"


def _row(
    time_ns: int, times: CpuTimes, gpus: list[list[float | None]]
) -> dict[str, object]:
    return {
        "t": time_ns,
        "cpu_s": [round(core, 2) for core in times.cores_s],
        "tree_s": round(times.tree_s, 2),
        "tree_bytes": times.tree_bytes,
        "gpu": gpus,
    }


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
