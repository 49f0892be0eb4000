"""What a report of Nsight Systems says of itself in its first bytes.

A report (`.nsys-rep`, until 2021.3 `.qdrep`) begins with a line such as
`NVIDIA Tegra Profiler Report 2025@3@2@367-253235987665v0.`: the build that wrote it,
or a bare number in builds that come with other products. A `.qdstrm` is the raw
stream that `nsys profile` leaves when it could not make a report of it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tracekit.tools.nsys import Version

REPORT_SUFFIXES = (".nsys-rep", ".qdrep")
STREAM_SUFFIX = ".qdstrm"

_HEAD_BYTES = 256
_REPORT = b"NVIDIA Tegra Profiler Report"
_STREAM = b"[END]NVIDIA Nsight Systems Stream"
_REPORT_VERSION = re.compile(rb"Profiler Report (\d{4})@(\d+)@(\d+)")
_STREAM_VERSION = re.compile(rb"Systems Stream (\d{4})\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class ReportHead:
    """The first bytes of a file, as far as they tell a report.

    Attributes:
        is_report: Whether it begins as a report does.
        is_stream: Whether it begins as a raw stream does.
        version: The nsys that wrote it; empty where that is not told.
    """

    is_report: bool
    is_stream: bool
    version: Version


def read_head(path: Path) -> ReportHead:
    """Read the first bytes of a file."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    match = _REPORT_VERSION.search(head) or _STREAM_VERSION.search(head)
    return ReportHead(
        is_report=head.startswith(_REPORT),
        # Some bytes of a checksum come first.
        is_stream=_STREAM in head[:64],
        version=tuple(int(part) for part in match.groups()) if match else (),
    )
