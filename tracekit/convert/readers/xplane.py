"""TensorFlow and JAX: XPlane files, one or a profile folder of several hosts."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tracekit.convert.readers.base import Batch, Reading
from tracekit.convert.xplane.files import is_xspace, profile_files


class XPlaneReader:
    """Reads `*.xplane.pb` and the folders TensorFlow and JAX write them to."""

    name: ClassVar[str] = "xplane"

    def accepts(self, capture: Path) -> bool:
        """Tell whether the file is an XSpace, or the folder holds some."""
        if capture.is_dir():
            return bool(profile_files(capture))
        return is_xspace(capture)

    def read(self, capture: Path, reading: Reading) -> Iterator[Batch]:
        """Yield the rows of the wanted tables; see `Reader.read`."""
        # protobuf takes a while to load, and other formats do without.
        from tracekit.convert.xplane.reading import read_profile

        files = profile_files(capture) if capture.is_dir() else [capture]
        yield from read_profile(files, reading)
