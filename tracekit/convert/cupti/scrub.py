"""Writes captures of the native CUPTI collector anew, fit to share."""

import hashlib
from collections import Counter
from pathlib import Path

from tracekit.convert.cupti.capture_file import (
    HEADER,
    MAGIC,
    SUFFIX,
    is_capture_file,
    open_capture_file,
)
from tracekit.tools.variables import is_allowed_variable

Withheld = Counter[tuple[str, str]]

# What a header says of neither people nor machines.
_KEPT = frozenset(
    {"pid", "start_utc_ns", "cupti_version", "built_for", "collector", "kind"}
)
_UUID = ("uuid_high", "uuid_low")


def scrub_cupti(capture: Path, made: Path) -> Withheld:
    """Write a copy without the names of machine and program, and UUIDs of GPUs.

    All else is copied as they are: their texts are names of kernels, of calls and
    of the program's own NVTX ranges.

    Raises:
        UnreadableTraceError: A file is cut in its header.
    """
    withheld: Withheld = Counter()
    if not capture.is_dir():
        _scrub_file(capture, made, withheld)
        return withheld
    made.mkdir()
    for file in sorted(capture.iterdir()):
        if file.suffix == SUFFIX and is_capture_file(file):
            _scrub_file(file, made / file.name, withheld)
        else:
            withheld["file", "not one of the collector"] += 1
    return withheld


def _scrub_file(capture: Path, made: Path, withheld: Withheld) -> None:
    opened = open_capture_file(capture)
    content = bytearray(capture.read_bytes())
    _, length = HEADER.unpack_from(content)
    begin = HEADER.size + length
    kept = []
    for line in content[HEADER.size : begin].decode("utf-8", "replace").splitlines():
        word, _, rest = line.partition(" ")
        variable = rest.partition(" ")[0]
        if word in _KEPT or (word == "variable" and is_allowed_variable(variable)):
            kept.append(line)
        elif word:
            withheld[f"{word} in a header", "never copied"] += 1
    for place in opened.places("device", _UUID):
        digest = hashlib.sha256(content[place : place + 8]).digest()
        content[place : place + 8] = digest[:8]
        withheld["half of a UUID of a GPU", "replaced by its hash"] += 1
    header = "".join(f"{line}\n" for line in kept).encode()
    header += b"\n" * (-len(header) % 8)
    with made.open("wb") as target:
        target.write(HEADER.pack(MAGIC, len(header)) + header)
        target.write(memoryview(content)[begin:])
