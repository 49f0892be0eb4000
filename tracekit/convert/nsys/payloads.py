"""NVTX payloads in binary: laid out by schemas that the program registered.

`NVTX_EVENTS.binaryData` holds the number of payloads, then for each its schema, its
size and its offset (all unsigned 64-bit integers), then the payloads themselves. It is
there with `nsys export --include-blobs=true`. With `--include-json=true` nsys decodes
it, and what is made here is the same text.
"""

import struct
from typing import Any, NamedTuple

import msgspec

from tracekit.convert.nsys.definitions import definitions
from tracekit.convert.nsys.export import Export
from tracekit.convert.readers.base import CaptureLog

# Types of an entry, as nvToolsExtPayload.h numbers them, on the 64-bit Linux systems
# that nsys records: a long has 8 bytes. Text and nested schemas are not laid out in
# place, so they are left out.
_SCALARS = {
    2: "B",
    3: "h",
    4: "H",
    5: "i",
    6: "I",
    7: "q",
    8: "Q",
    9: "q",
    10: "Q",
    11: "b",
    12: "B",
    13: "h",
    14: "H",
    15: "i",
    16: "I",
    17: "q",
    18: "Q",
    19: "f",
    20: "d",
    22: "Q",
    23: "Q",
    32: "B",
    43: "f",
    44: "d",
}
_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}
_HEADER = struct.Struct("<Q")
_PLACE = struct.Struct("<QQQ")
_MOST_PAYLOADS = 64
_KEY = "domainId schemaId"


class _Entry(NamedTuple):
    name: str
    layout: struct.Struct
    offset: int
    words: dict[int, str]


class PayloadSchemas:
    """The payload schemas of an export, by domain and id."""

    def __init__(self, export: Export, log: CaptureLog) -> None:
        words: dict[tuple[int, int], dict[int, str]] = {}
        for row in definitions(
            export,
            "NVTX_PAYLOAD_ENUM_ENTRIES",
            log,
            integers=f"{_KEY} value",
            texts="name",
        ):
            if row["name"] is not None:
                words.setdefault(_key(row), {})[row["value"] or 0] = row["name"]
        sizes = {
            _key(row): row["size"] or 0
            for row in definitions(
                export, "NVTX_PAYLOAD_ENUMS", log, integers=f"{_KEY} size"
            )
        }
        found: dict[tuple[int, int], dict[int, _Entry]] = {}
        for row in definitions(
            export,
            "NVTX_PAYLOAD_SCHEMA_ENTRIES",
            log,
            integers=f"{_KEY} type offset flags idx",
            texts="name",
        ):
            # NULL is how the export writes 0 here.
            kind, offset = row["type"] or 0, row["offset"] or 0
            enum = _key({**row, "schemaId": kind})
            code = _SCALARS.get(kind) or _UNSIGNED.get(sizes.get(enum, 0))
            # An offset below 0 would count from the end of the payload.
            if code and not row["flags"] and row["name"] and offset >= 0:
                entry = _Entry(
                    row["name"],
                    struct.Struct(f"<{code}"),
                    offset,
                    words.get(enum, {}),
                )
                found.setdefault(_key(row), {})[row["idx"] or 0] = entry
        self._entries = {
            key: [entries[index] for index in sorted(entries)]
            for key, entries in found.items()
        }

    def __bool__(self) -> bool:
        return bool(self._entries)

    def text(self, domain: int, blob: bytes) -> str | None:
        """Return the payloads of an event as JSON text, or None if it has none."""
        fields: dict[str, Any] = {}
        try:
            (count,) = _HEADER.unpack_from(blob)
            for number in range(min(count, _MOST_PAYLOADS)):
                place = _HEADER.size + number * _PLACE.size
                schema, size, offset = _PLACE.unpack_from(blob, place)
                payload = blob[offset : offset + size]
                for entry in self._entries.get((domain, schema), ()):
                    (value,) = entry.layout.unpack_from(payload, entry.offset)
                    fields[entry.name] = entry.words.get(value, value)
        except struct.error:
            return None
        return msgspec.json.encode(fields).decode() if fields else None


def _key(row: dict[str, Any]) -> tuple[int, int]:
    return row["domainId"] or 0, row["schemaId"] or 0
