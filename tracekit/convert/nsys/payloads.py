"""NVTX payloads in binary: laid out by schemas that the program registered.

`NVTX_EVENTS.binaryData` holds the number of payloads, then for each its schema, its
size and its offset (all unsigned 64-bit integers), then the payloads themselves. It is
there with `nsys export --include-blobs=true`. With `--include-json=true` nsys decodes
it, and what is made here is the same text.
"""

import struct
from typing import Any, NamedTuple

import msgspec

from tracekit.convert.nsys.export import Export

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


class _Entry(NamedTuple):
    name: str
    layout: struct.Struct
    offset: int
    words: dict[int, str]


class PayloadSchemas:
    """The payload schemas of an export, by domain and id."""

    def __init__(self, export: Export) -> None:
        words: dict[tuple[int, int], dict[int, str]] = {}
        for row in export.rows("NVTX_PAYLOAD_ENUM_ENTRIES"):
            values = words.setdefault(_key(row), {})
            values[row.get("value") or 0] = str(row.get("name"))
        sizes = {
            _key(row): row.get("size") or 0 for row in export.rows("NVTX_PAYLOAD_ENUMS")
        }
        found: dict[tuple[int, int], dict[int, _Entry]] = {}
        for row in export.rows("NVTX_PAYLOAD_SCHEMA_ENTRIES"):
            # NULL is how the export writes 0 here.
            kind, offset = row.get("type") or 0, row.get("offset") or 0
            enum = _key({**row, "schemaId": kind})
            code = _SCALARS.get(kind) or _UNSIGNED.get(sizes.get(enum, 0))
            if code and not row.get("flags") and row.get("name"):
                entry = _Entry(
                    row["name"],
                    struct.Struct(f"<{code}"),
                    offset,
                    words.get(enum, {}),
                )
                found.setdefault(_key(row), {})[row["idx"]] = entry
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
    return row.get("domainId") or 0, row.get("schemaId") or 0
