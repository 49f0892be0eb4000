"""Hook: starts the memory recorder in a process that imports torch.

Nothing happens until the program imports torch itself, and then only after that import.
TRACEKIT_TORCH_MEMORY is the folder that takes the captures.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
# In the order in which they need each other.
_PARTS = ("torch_memory_events", "torch_memory_recorder")


def start():
    """Wait for the import of torch; called once a process."""
    if os.environ.get("TRACEKIT_TORCH_MEMORY"):
        # It tells on standard error when it starts and stops.
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        sys.meta_path.insert(0, _AfterTorch())


class _AfterTorch:
    """Finds torch where it is found without this, and starts the recorder after it."""

    def find_spec(self, fullname, path=None, target=None):
        """Return the spec of torch with a loader that starts the recorder."""
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # Its own loader again, so that nothing that asks torch for it wonders.
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            for part in _PARTS:
                _load(part)
            sys.modules["tracekit_torch_memory_recorder"].begin(module)
        except Exception as error:
            # The program must run all the same.
            sys.stderr.write("tracekit: memory is not recorded: %r\n" % (error,))


def _load(name):
    place = os.path.join(_HERE, name + ".py")
    spec = importlib.util.spec_from_file_location("tracekit_" + name, place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tracekit_" + name] = module
    spec.loader.exec_module(module)
