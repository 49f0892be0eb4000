"""Starts the traced program and notes how it ended; run by the profiler.

    python launch.py NOTES OUT ERR PROGRAM [ARGUMENT...]

A profiler may end with a status of its own and mixes its output into the program's, so
this process stands between the two. NOTES is a file: it gets `pid PID HOW` when the
program starts and `status N NS` when it ended (128 + n for a signal) after so many
nanoseconds. OUT and ERR are `DESCRIPTOR:DEVICE:INODE`, where the program's output
belongs; HOW is `direct` if the profiler left both open, else `through`, and the output
takes the profiler's way.

The program gets a process group of its own, so that a signal for it reaches all that it
started and not the profiler. Only the standard library is used.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn


def main() -> None:
    """Start the program, wait for it and end as it did."""
    notes, out, err, *command = sys.argv[1:]
    # What ends this process must not do so before the program has ended.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    found = [_still_open(out), _still_open(err)]
    targets = [descriptor for descriptor in found if descriptor is not None]
    direct = len(targets) == len(found)
    began_ns = time.monotonic_ns()
    child = os.fork()
    if child == 0:
        _become(command, targets if direct else [])
    _group(child)
    _note(notes, f"pid {child} {'direct' if direct else 'through'}")
    for descriptor in targets:
        os.close(descriptor)
    status = _ended(child)
    _note(notes, f"status {status} {time.monotonic_ns() - began_ns}")
    sys.exit(status)


def _still_open(text: str) -> int | None:
    """Return the descriptor if it is still the file it was, else None."""
    descriptor, device, inode = (int(part) for part in text.split(":"))
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return descriptor if (found.st_dev, found.st_ino) == (device, inode) else None


def _become(command: list[str], targets: list[int]) -> NoReturn:
    try:
        _group(0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        # Python ignores it; a program of a shell does not.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for place, descriptor in enumerate(targets, start=1):
            os.dup2(descriptor, place)
        for descriptor in targets:
            if descriptor > 2:
                os.close(descriptor)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _group(process: int) -> None:
    # It fails where the other side did it already and has begun the program.
    with contextlib.suppress(OSError):
        os.setpgid(process, process)


def _ended(child: int) -> int:
    while True:
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return 128 + os.WTERMSIG(status)
        if os.WIFEXITED(status):
            return os.WEXITSTATUS(status)


def _note(path: str, line: str) -> None:
    with Path(path).open("a") as file:
        file.write(line + "\n")


main()
