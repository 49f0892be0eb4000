"""Starts a framework's profiler once it is imported, and stops it at the end.

Told by variables of the environment: TRACEKIT_PROFILER is the framework's module,
TRACEKIT_PROFILER_FOLDER takes the captures, TRACEKIT_PROFILER_STEPS is `FROM:TO`, the
steps to record, from 0 (the whole program without it), TRACEKIT_PROFILER_OPTIONS is
`name=value,...`. What happened goes to `events.<pid>.jsonl` in the folder, a line each.

Nothing here may end the program: what fails is told, and the program runs on. Runs in
Python 3.6 and later, with the standard library only.
"""

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import threading
import time

# They start the processes that train, and train nothing themselves.
_LAUNCHERS = (
    "torchrun",
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate",
    "deepspeed",
)
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


class Settings:
    """What is to be recorded.

    Attributes:
        framework: The module of the framework.
        folder: Takes the captures.
        first: The first step to record; None to record from the start.
        last: The step before which recording ends; None for the program's end.
        options: The profiler's own, by name.
    """

    def __init__(self, variables: "dict[str, str]") -> None:
        self.framework = variables["TRACEKIT_PROFILER"]
        self.folder = variables["TRACEKIT_PROFILER_FOLDER"]
        first, _, last = variables.get("TRACEKIT_PROFILER_STEPS", "").partition(":")
        self.first = int(first) if first else None
        self.last = int(last) if last else None
        pairs = variables.get("TRACEKIT_PROFILER_OPTIONS", "").split(",")
        self.options = dict(pair.split("=", 1) for pair in pairs if "=" in pair)

    def has(self, option: str) -> bool:
        """Tell whether an option is switched on."""
        return self.options.get(option) == "true"

    def path(self, suffix: str) -> str:
        """Return a path for this process, with its rank where it has one."""
        ranks = [os.environ[name] for name in _RANKS if os.environ.get(name)]
        rank = "rank-" + ranks[0] + "." if ranks else ""
        return os.path.join(self.folder, f"{rank}pid-{os.getpid()}{suffix}")


def tell(settings: "Settings", event: str, **facts: object) -> None:
    """Note what happened."""
    path = os.path.join(settings.folder, f"events.{os.getpid()}.jsonl")
    try:
        with open(path, "a") as file:
            file.write(json.dumps(dict(facts, event=event, time=time.time())) + "\n")
    except OSError:
        pass


class Recording:
    """Drives one profiler: when it starts, counts steps, and stops."""

    def __init__(self, settings: "Settings", profiler: object) -> None:
        self._settings = settings
        self._profiler = profiler
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._done = 0
        self._state = "waiting"

    def begin(self) -> None:
        """Start, unless steps are waited for."""
        if self._settings.first in (None, 0):
            self._start()
        elif self._settings.first == 1:
            self._try("warm_up", self._profiler.warm_up)

    def step(self) -> None:
        """Count a step that has ended."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._done += 1
            done = self._done
        first, last = self._settings.first, self._settings.last
        if self._state == "running":
            self._try("step", self._profiler.close_step)
            if done == last:
                self.end()
            else:
                self._try("step", self._profiler.open_step)
        elif first is not None and done == first:
            self._start()
        elif first is not None and done == first - 1:
            self._try("warm_up", self._profiler.warm_up)

    def end(self) -> None:
        """Stop and write the capture; once, and in the process that started.

        A step that has begun stays open: it is none.
        """
        if self._state != "running" or os.getpid() != self._process:
            return
        self._state = "ended"
        paths = self._try("stop", self._profiler.stop)
        if paths is not None:
            tell(self._settings, "captured", paths=paths, steps=self._done)

    def finish(self) -> None:
        """End the recording with the program."""
        if self._state == "waiting" and os.getpid() == self._process:
            tell(self._settings, "never_started", steps=self._done)
        self.end()

    def _start(self) -> None:
        if self._state == "waiting":
            self._state = "running"
            self._try("start", self._profiler.start)
            if self._state == "running":
                self._try("step", self._profiler.open_step)

    def _try(self, what: str, call: object) -> object:
        try:
            result = call()
        except Exception as error:
            self._state = "failed"
            said = f"{type(error).__name__}: {error}"
            tell(self._settings, "failed", what=what, error=said)
            sys.stderr.write(f"tracekit: the profiler failed at {what}: {said}\n")
            return None
        return True if result is None else result


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the framework as the others do, and is told once it is imported."""

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self._busy = False

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> object:
        if name != self._settings.framework or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return None
        sys.meta_path.remove(self)
        spec.loader = _Loader(spec.loader, self._settings)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads a module, then starts its profiler."""

    def __init__(self, loader: object, settings: "Settings") -> None:
        self._loader = loader
        self._settings = settings

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: object) -> object:
        return self._loader.create_module(spec)

    def exec_module(self, module: object) -> None:
        settings = self._settings
        # Whoever asks the module for its loader gets the real one.
        module.__spec__.loader = module.__loader__ = self._loader
        adapter = _adapter(settings.framework)
        adapter.prepare()
        self._loader.exec_module(module)
        if not _is_launcher():
            _install(settings, adapter, module)


def _adapter(framework: str) -> object:
    """Return what drives a framework's profiler; this folder is on no path."""
    name = "profiler_" + framework
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location("tracekit_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _install(settings: "Settings", adapter: object, module: object) -> None:
    version = str(getattr(module, "__version__", ""))
    tell(settings, "imported", framework=settings.framework, version=version)
    try:
        profiler = adapter.Profiler(settings, module)
        recording = Recording(settings, profiler)
        profiler.watch_steps(recording.step)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        tell(settings, "failed", what="install", error=said)
        sys.stderr.write(f"tracekit: the profiler cannot be used: {said}\n")
        return
    recording.begin()
    atexit.register(recording.finish)
    _end_cleanly()


def _is_launcher() -> bool:
    """Tell whether this process only starts others."""
    if any(os.environ.get(name) for name in _RANKS):
        return False
    try:
        with open("/proc/self/cmdline") as file:
            words = file.read().split("\0")
    except OSError:
        words = sys.argv
    return any(os.path.basename(word) in _LAUNCHERS for word in words[:4])


def _end_cleanly() -> None:
    """Let SIGTERM end the program as an exit does, where it leaves the signal alone."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def start() -> None:
    """Wait for the framework to be imported."""
    sys.meta_path.insert(0, _Finder(Settings(os.environ)))
