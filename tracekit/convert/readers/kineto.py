"""PyTorch profiler: the Chrome trace that Kineto writes, 2020 to today."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.kineto.reading import Trace
from tracekit.convert.readers.base import Batch, Reading

_LOOKED_AT = 1 << 20
# Keys of the header that only Kineto writes; categories that only it has; the pid of
# the profiler before it.
_HEADER = re.compile(
    rb'"(?:deviceProperties|distributedInfo|cupti_version|baseTimeNanoseconds'
    rb'|cuda_runtime_version|record_shapes|profile_memory)"\s*:'
)
_EVENT = re.compile(
    rb'"cat"\s*:\s*"(?:cpu_op|cpu_instant_event|user_annotation|gpu_user_annotation'
    rb"|cuda_runtime|cuda_driver|cuda_sync|gpu_memcpy|gpu_memset|python_function|ac2g"
    rb"|fwdbwd|async_gpu|async_cpu_to_gpu|xpu_runtime|mtia_runtime|mtia_ccp_events"
    rb'|privateuse1_runtime|hpu_op|Operator|Runtime|Kernel|Memcpy|Memset)"'
    rb'|"pid"\s*:\s*"(?:CPU|CUDA) functions"'
)
_EVENTS = re.compile(rb'"traceEvents"\s*:')
_OTHER = re.compile(rb'"(?:nodes|rocprofiler-sdk-tool)"\s*:\s*\[')


class KinetoReader:
    """Reads what `torch.profiler` exports with `export_chrome_trace`."""

    name: ClassVar[str] = "kineto"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is JSON with marks of Kineto near its start."""
        if not capture.is_file():
            return False
        with capture.open("rb") as file:
            start = file.read(_LOOKED_AT)
        if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            return False
        if _OTHER.search(start[:65536]):
            return False
        return _EVENT.search(start) is not None or (
            b'"schemaVersion"' in start
            and _HEADER.search(start) is not None
            # A report on a trace has the keys of its header, and no list of events.
            and (_EVENTS.search(start) is not None or len(start) == _LOOKED_AT)
        )

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        yield from Trace(capture, reading).batches()
