"""Stand-ins for frameworks: modules with the few names that a hook or program uses.

They run in Python 3.6 and later.
"""

from pathlib import Path

NUMPY = "number = int\n"

# Operators are written while the profiler runs; tasks once they are stopped.
MXNET = """
import json, os, sys, time
import numpy

__version__ = "1.9.1"
assert numpy.bool is bool, "as MXNet 1.9.1 uses it"
_events, _state = [], ["stop"]
_PLACES = [
    {"ph": "M", "args": {"name": name}, "pid": pid, "name": "process_name"}
    for pid, name in enumerate(("cpu/0", "cpu/1", "cpu pinned/", "cpu shared/"))
]


def _now():
    return int(time.time() * 1e6)


def _event(kind, name, category, **more):
    fields = {"ph": kind, "name": name, "cat": category, "pid": 0, "tid": 7}
    _events.append(dict(fields, ts=_now(), **more))


class _Task:
    def __init__(self, name):
        self.name, self.began = name, None

    def start(self):
        self.began = _now()

    def stop(self):
        fields = {"name": self.name, "cat": "tracekit", "pid": 9, "tid": 7, "id": 8}
        _events.append(dict(fields, ph="b", ts=self.began))
        _events.append(dict(fields, ph="e", ts=_now()))


class profiler:
    @staticmethod
    def set_config(**config):
        profiler.config = config

    @staticmethod
    def set_state(state):
        if "cannot_" + state in os.environ.get("FAKE", ""):
            raise RuntimeError("the profiler cannot " + state)
        _state[0] = state

    @staticmethod
    def dump():
        with open(profiler.config["filename"], "w") as file:
            events = _PLACES + _events
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file, indent=4)

    class Domain:
        def __init__(self, name):
            pass

        def new_task(self, name):
            return _Task(name)


class nd:
    @staticmethod
    def waitall():
        pass


class gluon:
    class Trainer:
        def step(self, size):
            if _state[0] == "run":
                _event("B", "sgd_update", "operator")
                _event("E", "sgd_update", "operator")
            return size

        def update(self, size):
            return size


class module:
    class Module:
        def update(self):
            pass
"""


def install(folder: Path) -> Path:
    """Write the modules into a folder, for PYTHONPATH, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "numpy.py").write_text(NUMPY)
    (folder / "mxnet.py").write_text(MXNET)
    return folder
