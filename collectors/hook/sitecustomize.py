"""Switches a framework's own profiler on, from outside; Python imports it at its start.

The folder of this file is the first one on PYTHONPATH. The interpreter's own
`sitecustomize`, if it has one, is run as well. Runs in Python 3.6 and later, with the
standard library only.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _run_the_other() -> None:
    """Run the `sitecustomize` that this one stands before."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


try:
    _run_the_other()
finally:
    if os.environ.get("TRACEKIT_PROFILER"):
        import tracekit_hook

        tracekit_hook.watch(os.environ)
