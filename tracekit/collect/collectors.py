"""The collectors, by the name that `--with` knows them by."""

from collections.abc import Callable
from importlib import import_module

from tracekit.collect.request import Collected, Request

# Imported when one is asked for: a command starts no slower for those it does not use.
COLLECTORS = {
    "nsys": "tracekit.collect.nsys",
    "cupti": "tracekit.collect.cupti",
    "ncu": "tracekit.collect.ncu",
    "memory": "tracekit.collect.memory",
}


def collector(name: str) -> Callable[[Request], Collected]:
    """Return what runs a program under a profiler and returns its captures."""
    run: Callable[[Request], Collected] = import_module(COLLECTORS[name]).collect
    return run
