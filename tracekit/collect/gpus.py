"""Clocks, power and memory of the GPUs, by NVIDIA's management library."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")


class Gpu(msgspec.Struct, frozen=True):
    """A GPU that is sampled.

    Attributes:
        name: The product.
        uuid: Its UUID, without the kind in front; None where NVML tells none.
        bus: Its PCI address.
    """

    name: str
    uuid: str | None
    bus: str | None


class Gpus:
    """The GPUs of this machine.

    Attributes:
        found: What they are, in the order of their samples.
        driver: The version of the driver; None without one.
        failure: Why there are none; empty where there are some.
    """

    def __init__(self) -> None:
        self.found: list[Gpu] = []
        self.driver: str | None = None
        self.failure = ""
        self._nvml: Any = None
        self._handles: list[object] = []
        try:
            import pynvml
        except ImportError:
            self.failure = "nvidia-ml-py is not installed"
            return
        try:
            pynvml.nvmlInit()
            self._nvml = pynvml
            self.driver = _text(pynvml.nvmlSystemGetDriverVersion())
            for index in range(pynvml.nvmlDeviceGetCount()):
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                self.found.append(self._describe(handle))
                self._handles.append(handle)
        except pynvml.NVMLError as error:
            self.failure = str(error)

    def sample(self) -> list[list[float | None]]:
        """Return a row a GPU: SM clock and memory clock in Hz, power in W, bytes used.

        What a GPU does not tell is None.
        """
        return [self._row(handle) for handle in self._handles]

    def close(self) -> None:
        """End the session with the library."""
        if self._nvml is not None:
            with suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()

    def _row(self, handle: object) -> list[float | None]:
        nvml = self._nvml
        return [
            self._asked(
                lambda: 1e6 * nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)
            ),
            self._asked(
                lambda: 1e6 * nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)
            ),
            # Milliwatts.
            self._asked(lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1e3),
            self._asked(lambda: float(nvml.nvmlDeviceGetMemoryInfo(handle).used)),
        ]

    def _describe(self, handle: object) -> Gpu:
        nvml = self._nvml
        uuid = self._asked(lambda: _text(nvml.nvmlDeviceGetUUID(handle)))
        bus = self._asked(lambda: _text(nvml.nvmlDeviceGetPciInfo(handle).busId))
        return Gpu(
            name=_text(nvml.nvmlDeviceGetName(handle)),
            uuid=None if uuid is None else uuid.removeprefix("GPU-"),
            bus=bus,
        )

    def _asked(self, question: Callable[[], _T]) -> _T | None:
        try:
            return question()
        except self._nvml.NVMLError:
            return None


def _text(value: str | bytes) -> str:
    """Return text that older versions of the library give as bytes."""
    return value.decode() if isinstance(value, bytes) else value
