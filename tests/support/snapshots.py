"""Pieces of hand-made memory snapshots."""

from typing import Any

BASE = 0x7F00_0000_0000
Row = dict[str, Any]


def event(action: str, addr: int, size: int, time_us: int, **more: object) -> Row:
    """Return an event of an allocator at an offset."""
    return {
        "action": action,
        "addr": BASE + addr,
        "size": size,
        "stream": 0,
        "time_us": time_us,
        **more,
    }


def block(addr: int, size: int, requested: int, state: str = "active_allocated") -> Row:
    """Return a block at an offset."""
    return {
        "address": BASE + addr,
        "size": size,
        "requested_size": requested,
        "state": state,
        "frames": [],
    }


def segment(addr: int, size: int, *blocks: Row, device: int = 0) -> Row:
    """Return a segment that says itself what its blocks hold."""
    held = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    return {
        "device": device,
        "address": BASE + addr,
        "total_size": size,
        "allocated_size": held,
        "stream": 0,
        "segment_type": "small",
        "blocks": list(blocks),
    }
