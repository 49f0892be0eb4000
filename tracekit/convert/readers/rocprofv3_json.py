"""ROCm: the JSON of rocprofv3."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.rocm.json_reading import read_json

_LOOKED_AT = 4096


class Rocprofv3JsonReader:
    """Reads what `rocprofv3 --output-format json` writes."""

    name: ClassVar[str] = "rocprofv3-json"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is a JSON object that begins with the tool's name."""
        if not capture.is_file():
            return False
        with capture.open("rb") as file:
            start = file.read(_LOOKED_AT).lstrip(b"\xef\xbb\xbf \t\r\n")
        return start[:1] == b"{" and b'"rocprofiler-sdk-tool"' in start

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        yield from read_json(capture, reading)
