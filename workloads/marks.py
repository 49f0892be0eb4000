"""NVTX ranges and the start of a waiting profiler, without a framework's help.

The package `nvtx` is used if it is installed, else NVIDIA's library of NVTX 2; without
either there are no ranges. Runs in Python 3.6 and later, standard library only.
"""

import contextlib
import ctypes
import ctypes.util

_LIBRARIES = ("libnvToolsExt.so.1", "libnvToolsExt.so")
_RUNTIMES = ("libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0")


class Marks:
    """Ranges of one thread."""

    def __init__(self) -> None:
        self._package = None
        self._library = None
        with contextlib.suppress(ImportError):
            import nvtx

            self._package = nvtx
        if self._package is None:
            self._library = _loaded(_LIBRARIES)

    def push(self, text: str) -> None:
        """Open a range."""
        if self._package is not None:
            self._package.push_range(text)
        elif self._library is not None:
            self._library.nvtxRangePushA(text.encode())

    def pop(self) -> None:
        """Close the range that was opened last."""
        if self._package is not None:
            self._package.pop_range()
        elif self._library is not None:
            self._library.nvtxRangePop()


def start_profiler() -> None:
    """Tell a profiler that waits for it to start."""
    runtime = _loaded(_RUNTIMES)
    if runtime is not None:
        runtime.cudaProfilerStart()


def stop_profiler() -> None:
    """Tell the profiler to stop."""
    runtime = _loaded(_RUNTIMES)
    if runtime is not None:
        runtime.cudaProfilerStop()


def _loaded(names: "tuple[str, ...]") -> "ctypes.CDLL | None":
    for name in names:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None
