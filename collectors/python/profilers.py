"""Notes that the program starts a profiler of its own, which is one too many.

A process can have one user of CUPTI. Writes `PID.profiler` into the folder that
TRACEKIT_FACTS names when the PyTorch profiler is started.
"""

import importlib.machinery
import os
import sys
from typing import Any, Optional

_MODULE = "torch.autograd.profiler"
# What every way of starting it calls.
_START = "_start_trace"


def start() -> None:
    """Have the module changed when it is imported."""
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Stands first where modules are looked for, and looks where the others do."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                _watch(module)

            loader.exec_module = exec_module
        return spec


def _watch(module: Any) -> None:
    began = getattr(module.profile, _START, None)
    if began is None:
        return

    def noted(self: Any, *arguments: Any) -> Any:
        _note("the PyTorch profiler")
        return began(self, *arguments)

    setattr(module.profile, _START, noted)


def _note(what: str) -> None:
    folder = os.environ.get("TRACEKIT_FACTS", "")
    if folder:
        with open(os.path.join(folder, f"{os.getpid()}.profiler"), "w") as file:
            file.write(what)
