"""Which files are XSpaces; told without loading protobuf where the first bytes do."""

from pathlib import Path

SUFFIX = ".xplane.pb"
# A protobuf message holds less than 2 GiB.
LARGEST_BYTES = (1 << 31) - 1
_HEAD = 64
# Planes, errors, warnings, host names: the fields that an XSpace may begin with.
_TAGS = b"\x0a\x12\x1a\x22"
_PLANES = (b"/host:", b"/device:", b"/virtualdevice:", b"Task Environment")


def is_xspace(capture: Path) -> bool:
    """Tell whether a file is an XSpace, whole or cut short."""
    with capture.open("rb") as file:
        head = file.read(_HEAD)
    if not head or head[0] not in _TAGS:
        return False
    if head[0] == _TAGS[0] and any(name in head for name in _PLANES):
        return True
    if capture.stat().st_size > LARGEST_BYTES:
        return False

    from google.protobuf.message import DecodeError

    from tracekit.convert.xplane.xspace_pb2 import XPlaneHead, XSpace

    try:
        space = XSpace.FromString(capture.read_bytes())
        return any(XPlaneHead.FromString(plane).name for plane in space.planes)
    except DecodeError:
        return False


def profile_files(folder: Path) -> list[Path]:
    """Return the XSpace files of a folder, its own or those of the log folder.

    TensorFlow and JAX write `plugins/profile/<time>/<host>.xplane.pb` below the log
    folder; any of these folders will do.
    """
    for pattern in ("*", "*/*", "profile/*/*", "plugins/profile/*/*"):
        found = sorted(folder.glob(pattern + SUFFIX))
        if found:
            return found
    return []
