"""The collectors, by the name that `--with` knows them by."""

from collections.abc import Callable
from importlib import import_module

from tracekit.collect.request import Collected, Request

# Imported when one is asked for: a command starts no slower for those it does not use.
COLLECTORS = {
    "nsys": ("tracekit.collect.nsys", "collect"),
    "cupti": ("tracekit.collect.cupti", "collect"),
    "ncu": ("tracekit.collect.ncu", "collect"),
    "torch": ("tracekit.collect.frameworks", "torch"),
    "tensorflow": ("tracekit.collect.frameworks", "tensorflow"),
    "mxnet": ("tracekit.collect.frameworks", "mxnet"),
    "cntk": ("tracekit.collect.frameworks", "cntk"),
    "cupti-python": ("tracekit.collect.cupti_python", "collect"),
    "memory": ("tracekit.collect.memory", "collect"),
}


def collector(name: str) -> Callable[[Request], Collected]:
    """Return what runs a program under a profiler and returns its captures."""
    module, function = COLLECTORS[name]
    run: Callable[[Request], Collected] = getattr(import_module(module), function)
    return run
