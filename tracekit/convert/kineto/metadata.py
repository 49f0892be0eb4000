"""What a trace says about itself, before and after its events."""

import re
from typing import Any

import msgspec

from tracekit.convert.kineto.repair import mend
from tracekit.convert.readers.base import CaptureLog

# Metadata is free text of the user too: only what is on a list goes on.
_SETTINGS = (
    "record_shapes",
    "profile_memory",
    "with_stack",
    "with_flops",
    "with_modules",
)
_FACTS = (
    "cupti_version",
    "cuda_runtime_version",
    "cuda_driver_version",
    "hip_runtime_version",
    "hip_driver_version",
    "trace_id",
    "pytorch_version",
    "torch_version",
)
_DISTRIBUTED = ("backend", "rank", "world_size", "pg_count", "nccl_version")
_HOSTS = ("host_name", "hostname")
_USERS = ("username", "user", "tw_user")
_READ = frozenset(
    {
        "schemaVersion",
        "deviceProperties",
        "distributedInfo",
        "baseTimeNanoseconds",
        "traceEvents",
        "displayTimeUnit",
        "INFO",
        "WARNING",
        "ERROR",
        *_SETTINGS,
        *_FACTS,
    }
)
_SEVERITIES = {"INFO": "info", "WARNING": "warning", "ERROR": "error"}
_BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*"?(\d+)')
_RANK = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*"?(\d{1,9})')


class Metadata:
    """The keys of a trace beside its events.

    Args:
        header: The text before the events.
        trailer: The text after them.
        log: Counts what could not be read.
    """

    def __init__(self, header: bytes, trailer: bytes, log: CaptureLog) -> None:
        self._raw = header + trailer
        self.keys = _parsed(header, trailer, log)

    @property
    def base_ns(self) -> int | None:
        """UTC time of 0 on the clock of the trace, in ns."""
        value = self.keys.get("baseTimeNanoseconds")
        if value is None:
            match = _BASE.search(self._raw)
            value = match[1].decode() if match else None
        return _integer(value)

    @property
    def devices(self) -> list[dict[str, Any]]:
        """The GPUs that the process could see."""
        value = self.keys.get("deviceProperties")
        return (
            [d for d in value if isinstance(d, dict)] if isinstance(value, list) else []
        )

    @property
    def distributed(self) -> dict[str, Any]:
        """What is known of the job: backend, rank, world size."""
        value = self.keys.get("distributedInfo")
        return value if isinstance(value, dict) else {}

    @property
    def rank(self) -> int | None:
        """The rank in the job."""
        found = _integer(self.distributed.get("rank"))
        return rank_in_text(self._raw) if found is None else found

    @property
    def host(self) -> str | None:
        """The name of the machine."""
        for key in _HOSTS:
            value = self.keys.get(key)
            if isinstance(value, str) and value:
                return value
        return None

    def users(self) -> set[str]:
        """Return names of people, to be withheld."""
        found = (self.keys.get(key) for key in _USERS)
        return {value for value in found if isinstance(value, str) and value}

    def settings(self) -> dict[str, str]:
        """Return how the profiler was set."""
        return {key: _plain(self.keys[key]) for key in _SETTINGS if key in self.keys}

    def facts(self) -> list[dict[str, Any]]:
        """Return rows of `run_fact`."""
        rows = [
            {"key": key, "value": _plain(self.keys[key]), "source": "metadata"}
            for key in _FACTS
            if key in self.keys
        ]
        distributed = self.distributed
        rows += [
            {"key": key, "value": _plain(distributed[key]), "source": "distributedInfo"}
            for key in _DISTRIBUTED
            if key in distributed
        ]
        return rows

    def messages(self) -> list[dict[str, Any]]:
        """Return rows of `diagnostic`: what the profiler logged."""
        rows = []
        for key, severity in _SEVERITIES.items():
            lines = self.keys.get(key)
            if isinstance(lines, list):
                rows += [
                    {"severity": severity, "source": "profiler", "text": line}
                    for line in lines
                    if isinstance(line, str) and line.strip()
                ]
        return rows

    def withheld(self) -> int:
        """Return how many keys are not read: they may say anything."""
        return len(self.keys.keys() - _READ)


def rank_in_text(text: bytes) -> int | None:
    """Return the rank in a piece of the file, which need not be whole JSON."""
    match = _RANK.search(text)
    return int(match[1]) if match else None


def _parsed(header: bytes, trailer: bytes, log: CaptureLog) -> dict[str, Any]:
    before = header.strip().lstrip(b"{").strip(b" \t\r\n,")
    after = trailer.strip().rstrip(b"\0").strip(b" \t\r\n,")
    after = after.removesuffix(b"}").strip(b" \t\r\n,")
    merged: dict[str, Any] = {}
    for part in (before, after):
        if part.strip(b" \t\r\n]"):
            found = _object(b"{" + part + b"}")
            if found is None:
                found = _object(mend(b"{" + part + b"}")[0])
                if found is None:
                    log.skip("metadata", "not JSON")
                    found = {}
                else:
                    log.repair("metadata", "mended to JSON")
            merged.update(found)
    return merged


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return None


def _integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and abs(value) < 2**63 else None


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
