"""Runs in every Python interpreter of a traced program, before the program.

`collect` puts this folder first on PYTHONPATH and names in TRACEKIT_HOOKS the modules
of this folder to start, separated by commas. Only the standard library is used, in a
form that Python 3.6 understands: the program's interpreter is not tracekit's.
"""

import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start_hooks() -> None:
    for name in os.environ.get("TRACEKIT_HOOKS", "").split(","):
        path = os.path.join(_HERE, name + ".py")
        if not name.isidentifier() or not os.path.isfile(path):
            continue
        try:
            _loaded("tracekit_hook_" + name, path).start()
        except Exception as error:
            # The program must run all the same.
            sys.stderr.write(f"tracekit: hook {name} failed: {error!r}\n")


def _loaded(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _run_the_one_behind() -> None:
    """Run the sitecustomize that this one hides, as if it had been found first."""
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    # The program's own modules must not be found here.
    sys.path[:] = rest
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start_hooks()
_run_the_one_behind()
