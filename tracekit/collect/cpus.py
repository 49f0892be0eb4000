"""CPU time of the cores, of the machine and of a program with all that it started."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class CpuTimes:
    """CPU time that was used.

    Attributes:
        cores_s: For each core, the seconds in which it was busy since the start of the
            machine.
        tree_s: Seconds that the program and all that it started have used; a lower
            bound, as what an orphan used is not passed on to anyone.
        tree_bytes: Memory that the program's processes have resident; pages that they
            share count in each.
    """

    cores_s: list[float]
    tree_s: float
    tree_bytes: int


class ProcessTree:
    """A program and all that it started, also what outlives its parent."""

    def __init__(self) -> None:
        self._known: dict[int, psutil.Process] = {}
        self._used_s = 0.0

    def add(self, root: int) -> None:
        """Begin with a process."""
        with suppress(psutil.Error):
            self._known[root] = psutil.Process(root)

    def look_for_children(self) -> None:
        """Find processes that were started since the last look.

        It reads about every process of the machine, so it is done more rarely than
        `times`; what a process between two looks has used is known from its parent,
        which waited for it.
        """
        for process in list(self._known.values()):
            with suppress(psutil.Error):
                for child in process.children(recursive=True):
                    self._known.setdefault(child.pid, child)

    def times(self) -> tuple[float, int]:
        """Return the CPU seconds used so far, and the bytes resident now."""
        used_s, resident = 0.0, 0
        for pid, process in list(self._known.items()):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    resident += process.memory_info().rss
            except psutil.Error:
                del self._known[pid]
                continue
            # Those of children are of those that ended and were waited for.
            used_s += (
                times.user + times.system + times.children_user + times.children_system
            )
        # Between the end of a process and its parent's wait its time is in neither.
        self._used_s = max(self._used_s, used_s)
        return self._used_s, resident


def cpu_times(tree: ProcessTree) -> CpuTimes:
    """Return the CPU time that was used up to now."""
    cores = []
    for core in psutil.cpu_times(percpu=True):
        waiting = getattr(core, "iowait", 0.0)
        # User time includes that of guests.
        guests = getattr(core, "guest", 0.0) + getattr(core, "guest_nice", 0.0)
        cores.append(sum(core) - core.idle - waiting - guests)
    used_s, resident = tree.times()
    return CpuTimes(cores, used_s, resident)


def usable_cores() -> float:
    """Return how many cores a program started from here may use.

    That is what its affinity allows, or less where a quota of the control group does.
    """
    cores = float(len(os.sched_getaffinity(0)))
    allowed = quota(_CGROUP)
    return cores if allowed is None else min(cores, allowed)


def quota(root: Path) -> float | None:
    """Return the cores that the control groups of this process allow at most."""
    try:
        lines = MEMBERSHIP.read_text().splitlines()
    except OSError:
        return None
    allowed = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        group = root / path.lstrip("/")
        if number == "0" and not controllers:
            # A limit of any group above holds as well.
            for folder in (group, *group.parents):
                if folder.is_relative_to(root):
                    allowed.append(_quota_v2(folder / "cpu.max"))
        elif "cpu" in controllers.split(","):
            for folder in (root / "cpu" / path.lstrip("/"), root / "cpu"):
                allowed.append(_quota_v1(folder))
    return min((cores for cores in allowed if cores is not None), default=None)


def _quota_v2(file: Path) -> float | None:
    try:
        quota, period = file.read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _quota_v1(folder: Path) -> float | None:
    try:
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        period = int((folder / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None
    return quota / period if quota > 0 and period > 0 else None
