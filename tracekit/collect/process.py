"""Runs a profiler around a program: their output, their signals, their status."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path
from types import FrameType
from typing import IO, Any, Self

from tracekit.assets import assets
from tracekit.collect.hooks import Hooks
from tracekit.collect.sampling import Sampler
from tracekit.errors import CollectError
from tracekit.tools.variables import is_allowed_variable

_POLL_S = 0.1
_CHUNK = 1 << 16
# What a process leaves running in the background may keep its output open.
_LEFT_OPEN_S = 5.0
# So many signals are passed on before the next one kills.
_PATIENCE = 2
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Ended:
    """How the profiler and the program ended.

    Attributes:
        profiler_status: The profiler's; negative for a signal.
        program_status: The program's, 128 + n for a signal; None where it was not
            started, or ended together with the profiler.
        interrupted_by: The first signal that was passed on; None where none was.
        printed: What the profiler itself printed.
        program_ns: How long the program ran; None where that is not known.
        other_profilers: Profilers that the program started itself, as far as known.
    """

    profiler_status: int
    program_status: int | None
    interrupted_by: int | None
    printed: str
    program_ns: int | None = None
    other_profilers: Sequence[str] = ()

    @property
    def status(self) -> int | None:
        """The program's status as far as it is known, 128 + n for a signal."""
        if self.program_status is None and self.interrupted_by is not None:
            return 128 + self.interrupted_by
        return self.program_status

    def check_alone(self, captures: Sequence[Path]) -> None:
        """Check that the program started no profiler of its own.

        Raises:
            CollectError: It did, and one of the two lost records.
        """
        if self.other_profilers:
            raise CollectError(
                f"the program started {', '.join(self.other_profilers)}, and only one "
                "profiler can have the GPU records of a process: "
                f"{', '.join(map(str, captures))} may lack what came after",
                hint="run the program without its own profiler; or let that one "
                "record alone: tracekit convert reads its trace",
            )


@dataclass
class _Notes:
    """What `collectors/launch.py` notes about the program."""

    path: Path

    def read(self) -> dict[str, list[str]]:
        if not self.path.exists():
            return {}
        lines = self.path.read_text().splitlines(keepends=True)
        words = [line.split() for line in lines if line.endswith("\n")]
        return {name: rest for name, *rest in words}

    @property
    def program(self) -> int | None:
        found = self.read().get("pid")
        return int(found[0]) if found else None

    @property
    def is_direct(self) -> bool | None:
        """Whether the program prints past the profiler; None before it started."""
        found = self.read().get("pid")
        return None if found is None else found[1] == "direct"

    @property
    def status(self) -> int | None:
        found = self.read().get("status")
        return int(found[0]) if found else None

    @property
    def program_ns(self) -> int | None:
        found = self.read().get("status")
        return int(found[1]) if found and len(found) > 1 else None


class Launch:
    """Starts a program so that its output and its status are its own.

    A context manager: it holds copies of this process's outputs, which the program
    prints to past the profiler.

    Attributes:
        prefix: What the profiler is to start, before the program.
    """

    prefix: list[str]

    def __init__(self, folder: Path) -> None:
        self._notes = _Notes(folder / "notes")
        self._hooks = Hooks(folder / "facts")
        self._resources = ExitStack()
        self._outputs: list[int] = []

    def __enter__(self) -> Self:
        sys.stdout.flush()
        sys.stderr.flush()
        script = self._resources.enter_context(
            as_file(assets("collectors") / "launch.py")
        )
        self._resources.enter_context(self._hooks)
        for descriptor in (1, 2):
            copy = os.dup(descriptor)
            self._resources.callback(os.close, copy)
            self._outputs.append(copy)
        self.prefix = [
            sys.executable,
            # A profiler's threads make Python warn of the fork.
            *("-I", "-S", "-W", "ignore", str(script), str(self._notes.path)),
            *(_identity(copy) for copy in self._outputs),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        self._resources.close()

    def run(
        self,
        command: Sequence[str],
        log: Path,
        variables: Mapping[str, str] | None = None,
        *,
        samples: Path | None = None,
        hooks: Sequence[str] = (),
    ) -> Ended:
        """Run a profiler whose command contains the prefix, and wait for it.

        SIGINT, SIGTERM and SIGHUP go to the program, so that the profiler ends as it
        does after any program; a second one goes to the profiler, a third kills both.

        Args:
            command: The profiler's command.
            log: Takes what the profiler prints; the user sees it too.
            variables: Further variables of the environment.
            samples: Takes what is sampled beside it, and facts; None for neither.
            hooks: Further hooks to start in the program's Python interpreters.

        Raises:
            CollectError: The profiler does not start.
        """
        environment = {**os.environ, **(variables or {})}
        sampler = None
        if samples is not None or hooks:
            environment |= self._hooks.variables(environment, hooks)
        with (
            log.open("wb") as kept,
            _Signals(self._notes) as signals,
            ExitStack() as beside,
        ):
            try:
                process = subprocess.Popen(
                    command,
                    # A background group that reads from a terminal is stopped.
                    stdin=subprocess.DEVNULL if _is_terminal(0) else None,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environment,
                    pass_fds=self._outputs,
                    process_group=0,
                )
            except OSError as error:
                raise CollectError(f"{command[0]} does not start: {error}") from error
            signals.profiler = process.pid
            if samples is not None:
                sampler = beside.enter_context(
                    Sampler(samples, lambda: self._notes.program)
                )
            pumps = [
                _Pump(process.stdout, kept, lambda: self._notes.is_direct),
                _Pump(process.stderr, kept, lambda: True),
            ]
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_S)
                signals.deliver()
            for pump in pumps:
                pump.finish()
            if sampler is not None:
                sampler.note(self._facts())
        return Ended(
            process.returncode,
            self._notes.status,
            signals.first,
            log.read_text("utf-8", "replace"),
            self._notes.program_ns,
            self._hooks.other_profilers(),
        )

    def _facts(self) -> dict[str, str]:
        facts = {
            f"env.{name}": value
            for name, value in os.environ.items()
            if is_allowed_variable(name)
        }
        if self._notes.program_ns is not None:
            facts["collect.program_ns"] = str(self._notes.program_ns)
        return {**facts, **self._hooks.facts()}


def _identity(descriptor: int) -> str:
    found = os.fstat(descriptor)
    return f"{descriptor}:{found.st_dev}:{found.st_ino}"


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


class _Signals:
    """Takes the signals that end a program, and passes them on."""

    def __init__(self, notes: _Notes) -> None:
        self._notes = notes
        self._former: dict[int, Any] = {}
        self._waiting: list[int] = []
        self._count = 0
        self.first: int | None = None
        self.profiler: int | None = None

    def __enter__(self) -> Self:
        # Only the main thread takes signals.
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._former[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler
        self._waiting.append(number)

    def deliver(self) -> None:
        """Pass on what came in; called again and again, for the program may start."""
        program = self._notes.program
        while self._waiting and self.profiler is not None:
            number = self._waiting.pop(0)
            self.first = self.first or number
            self._count += 1
            if self._count > _PATIENCE:
                _send(self.profiler, signal.SIGKILL)
                _send(program, signal.SIGKILL)
            elif self._count == 1 and program is not None:
                _send(program, number)
            else:
                _send(self.profiler, signal.SIGINT)


def _send(group: int | None, number: int) -> None:
    if group is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


class _Pump:
    """Copies one output of the profiler to the log and to the user."""

    def __init__(
        self,
        source: IO[bytes] | None,
        log: IO[bytes],
        is_chatter: Callable[[], bool | None],
    ) -> None:
        assert source is not None
        self._source = source
        self._log = log
        self._is_chatter = is_chatter
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        held = b""
        while chunk := os.read(self._source.fileno(), _CHUNK):
            chatter = self._is_chatter()
            if chatter is None:
                # Whose text it is shows once the program has started.
                held += chunk
                continue
            self._pass_on(held + chunk, is_chatter=chatter)
            held = b""
        self._pass_on(held, is_chatter=self._is_chatter() is not False)

    def _pass_on(self, chunk: bytes, *, is_chatter: bool) -> None:
        if chunk:
            self._log.write(chunk)
            _write_all(2 if is_chatter else 1, chunk)

    def finish(self) -> None:
        """Copy what is left; the profiler has ended."""
        self._thread.join(_LEFT_OPEN_S)
        if not self._thread.is_alive():
            self._source.close()


def _write_all(descriptor: int, chunk: bytes) -> None:
    with suppress(OSError):  # nobody reads it any more
        while chunk:
            chunk = chunk[os.write(descriptor, chunk) :]
