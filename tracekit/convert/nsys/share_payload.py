"""Binary NVTX payloads, of which only numbers that a schema describes are kept.

The bytes between the fields of a C struct are whatever lay in the memory of the
process before, and a field may be text. An exported payload is a count, then schema,
size and offset of each part, then the parts; all are 64-bit little-endian numbers.
"""

import struct
from collections.abc import Mapping
from typing import Any

from tracekit.convert.nsys.definitions import definitions
from tracekit.convert.nsys.export import Export
from tracekit.convert.readers.base import CaptureLog

_COUNT = struct.Struct("<Q")
_PART = struct.Struct("<QQQ")
_MOST_PARTS = 64
# Numbers of the NVTX payload header (nvToolsExtPayload.h) and their sizes in bytes.
_SIZES = {
    3: 2,  # short
    4: 2,
    5: 4,  # int
    6: 4,
    7: 8,  # long
    8: 8,
    9: 8,  # long long
    10: 8,
    13: 2,  # int16_t
    14: 2,
    15: 4,  # int32_t
    16: 4,
    17: 8,  # int64_t
    18: 8,
    19: 4,  # float
    20: 8,  # double
    22: 8,  # size_t
    23: 8,  # an address
}

Spans = list[tuple[int, int]]


class Payloads:
    """The payload schemas of an export that consist of numbers alone."""

    def __init__(self, export: Export, log: CaptureLog) -> None:
        self._numbers = _schemas(export, log)

    def numbers_of(self, payload: bytes, domain: int | None) -> bytes | None:
        """Return a payload with every byte that is no number set to 0.

        None if a part of it has a schema that is unknown or holds text.
        """
        try:
            (count,) = _COUNT.unpack_from(payload)
            if not 0 < count <= _MOST_PARTS:
                return None
            kept = bytearray(len(payload))
            _COUNT.pack_into(kept, 0, count)
            for place in range(count):
                head = _COUNT.size + place * _PART.size
                schema, size, offset = _PART.unpack_from(payload, head)
                fields = self._numbers.get((domain or 0, schema))
                if fields is None or offset + size > len(payload):
                    return None
                _PART.pack_into(kept, head, schema, size, offset)
                for begin, end in fields:
                    if end > size:
                        return None
                    span = slice(offset + begin, offset + end)
                    kept[span] = payload[span]
        except struct.error:
            return None
        return bytes(kept)


def _schemas(export: Export, log: CaptureLog) -> dict[tuple[int, int], Spans]:
    enums = {
        (row["domainId"], row["schemaId"]): row["size"]
        for row in definitions(
            export, "NVTX_PAYLOAD_ENUMS", log, integers="domainId schemaId size"
        )
    }
    found: dict[tuple[int, int], Spans] = {}
    bad: set[tuple[int, int]] = set()
    for row in definitions(
        export,
        "NVTX_PAYLOAD_SCHEMA_ENTRIES",
        log,
        integers="domainId schemaId flags arrayOrUnionDetail type offset idx",
    ):
        key = (row["domainId"] or 0, row["schemaId"] or 0)
        span = _span(row, enums)
        if span is None:
            bad.add(key)
        else:
            found.setdefault(key, []).append(span)
    return {key: spans for key, spans in found.items() if key not in bad}


def _span(
    row: Mapping[str, Any], enums: Mapping[tuple[Any, Any], Any]
) -> tuple[int, int] | None:
    """Return where the field of a schema lies, or None if it is no plain number."""
    if row["flags"] or row["arrayOrUnionDetail"]:
        return None
    kind = row["type"]
    size = enums.get((row["domainId"], kind)) or _SIZES.get(kind or 0)
    begin = row["offset"]
    if begin is None and row["idx"] == 0:
        begin = 0
    if size is None or size < 0 or begin is None or begin < 0:
        return None
    return begin, begin + size
