"""Reads exported traces back, with nothing of what wrote them."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Exported:
    """What a trace holds.

    Attributes:
        kinds: Slices and instants by the table that they came from.
        slices: (track, start, end, name), in ns after the trace's origin.
        arrows: Pairs of names: the slice an arrow leaves, the one it arrives at.
        tracks: Names of tracks, by number.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    slices: list[tuple[int, int, int, str]] = field(default_factory=list)
    arrows: list[tuple[str, str]] = field(default_factory=list)
    tracks: dict[int, str] = field(default_factory=dict)

    def crossings(self) -> list[tuple[int, str, str]]:
        """Return slices of one track that overlap without nesting."""
        found = []
        stacks: dict[int, list[tuple[int, str]]] = {}
        order = sorted(self.slices, key=lambda one: (one[0], one[1], -one[2]))
        for track, start, end, name in order:
            stack = stacks.setdefault(track, [])
            while stack and stack[-1][0] <= start:
                stack.pop()
            if stack and stack[-1][0] < end:
                found.append((track, stack[-1][1], name))
            stack.append((end, name))
        return found


def read_perfetto(path: Path) -> Exported:
    """Read a trace with the schema of the package `perfetto`."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    found = Exported()
    names: dict[int, str] = {}
    kinds: dict[int, str] = {}
    open_: dict[int, list[tuple[int, str]]] = {}
    leaving: dict[int, str] = {}
    arriving: list[tuple[int, str]] = []
    events = []
    for place, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        for entry in packet.interned_data.event_categories:
            kinds[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            found.tracks[descriptor.uuid] = descriptor.name
            assert not descriptor.parent_uuid or descriptor.parent_uuid in found.tracks
        if packet.HasField("track_event"):
            events.append((packet.timestamp, place, packet.track_event))
    # As Perfetto's importer does: by time, and as written where times are the same.
    for time, _, event in sorted(events, key=lambda one: one[:2]):
        assert event.track_uuid in found.tracks
        if event.type == event.TYPE_SLICE_BEGIN:
            name = names[event.name_iid]
            open_.setdefault(event.track_uuid, []).append((time, name))
            found.kinds[kinds[event.category_iids[0]]] += 1
            for number in event.flow_ids:
                assert number not in leaving
                leaving[number] = name
            arriving += [(number, name) for number in event.terminating_flow_ids]
        elif event.type == event.TYPE_SLICE_END:
            start, name = open_[event.track_uuid].pop()
            found.slices.append((event.track_uuid, start, time, name))
        elif event.type == event.TYPE_INSTANT:
            found.kinds[kinds[event.category_iids[0]]] += 1
    assert not any(open_.values())
    found.arrows = [(leaving[number], name) for number, name in arriving]
    return found


def read_chrome(path: Path) -> Exported:
    """Read a trace of JSON."""
    content = json.loads(path.read_text(), parse_float=str)
    assert content["displayTimeUnit"] == "ns"
    found = Exported()
    leaving: dict[str, str] = {}
    arriving: list[tuple[str, str]] = []
    last = ""
    for event in content["traceEvents"]:
        assert {"ph", "pid", "name"} <= event.keys()
        if event["ph"] == "M" and event["name"] == "thread_name":
            found.tracks[event["tid"]] = event["args"]["name"]
        if event["ph"] in "Xi":
            found.kinds[event["cat"]] += 1
        if event["ph"] == "X":
            start = _ns(event["ts"])
            last = event["name"]
            end = start + _ns(event["dur"])
            found.slices.append((event["tid"], start, end, last))
        if event["ph"] == "s":
            leaving[event["id"]] = last
        if event["ph"] == "f":
            arriving.append((event["id"], last))
    found.arrows = [(leaving[number], name) for number, name in arriving]
    return found


def _ns(micro: str) -> int:
    whole, _, rest = micro.partition(".")
    assert len(rest) == 3
    return int(whole) * 1000 + int(rest)
