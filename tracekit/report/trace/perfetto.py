"""Perfetto's protobuf, for large traces; the package `perfetto` has its schema."""

from collections.abc import Mapping, Sequence
from typing import IO, Any

from tracekit.report.cells import visible
from tracekit.report.trace.sink import Group, Value

_SEQUENCE = 1
_PACKETS = 2_000
# TracePacket.SequenceFlags: the first packet of a sequence clears what was interned.
_CLEARED, _NEEDS = 1, 2


class PerfettoTrace:
    """Writes a trace as Perfetto's own protobuf.

    Args:
        target: Where to write.
        origin_ns: What the times count from; they may not be negative.
    """

    def __init__(self, target: IO[bytes], *, origin_ns: int) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

        self._target = target
        self._origin_ns = origin_ns
        self._event = schema.TrackEvent
        self._trace = schema.Trace()
        self._groups: dict[Group, int] = {}
        self._tracks = 0
        self._names: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        first = self._packet()
        first.sequence_flags = _CLEARED
        first.trace_packet_defaults.timestamp_clock_id = 6

    def track(self, group: Group, name: str) -> int:
        """Return the number of a new track in a group."""
        descriptor = self._descriptor(self._group(group), name)
        return int(descriptor.uuid)

    def slice(
        self,
        track: int,
        name: str,
        start_ns: int,
        end_ns: int,
        *,
        kind: str,
        arguments: Mapping[str, Value],
        leads_to: Sequence[int] = (),
        comes_from: int | None = None,
    ) -> None:
        """Write a slice; see `TraceSink`."""
        event = self._began(track, name, start_ns, kind, arguments)
        event.type = self._event.TYPE_SLICE_BEGIN
        if leads_to:
            event.flow_ids.extend(leads_to)
        if comes_from is not None:
            event.terminating_flow_ids.append(comes_from)
        packet = self._packet()
        packet.timestamp = end_ns - self._origin_ns
        packet.track_event.type = self._event.TYPE_SLICE_END
        packet.track_event.track_uuid = track

    def instant(
        self,
        track: int,
        name: str,
        time_ns: int,
        *,
        kind: str,
        arguments: Mapping[str, Value],
    ) -> None:
        """Write something that took no time."""
        event = self._began(track, name, time_ns, kind, arguments)
        event.type = self._event.TYPE_INSTANT

    def counter_track(self, group: Group, name: str, unit: str | None) -> int:
        """Return the number of a new track of values."""
        descriptor = self._descriptor(self._group(group), name)
        descriptor.counter.unit_name = unit or ""
        return int(descriptor.uuid)

    def counter(self, track: int, time_ns: int, value: float) -> None:
        """Write a value."""
        packet = self._packet()
        packet.timestamp = time_ns - self._origin_ns
        packet.track_event.type = self._event.TYPE_COUNTER
        packet.track_event.track_uuid = track
        packet.track_event.double_counter_value = value

    def close(self) -> None:
        """Write what is left."""
        self._flush()

    def _group(self, group: Group) -> int:
        if group in self._groups:
            return self._groups[group]
        parent = None if group.parent is None else self._group(group.parent)
        if group.pid is None and group.tid is None:
            descriptor = self._descriptor(parent, group.name)
        else:
            descriptor = self._descriptor(parent, None)
            if group.tid is None:
                descriptor.process.pid = group.pid or 0
                descriptor.process.process_name = visible(group.name)
            else:
                assert group.parent is not None
                descriptor.thread.pid = group.parent.pid or 0
                descriptor.thread.tid = group.tid
                descriptor.thread.thread_name = visible(group.name)
        descriptor.sibling_order_rank = group.order
        self._groups[group] = int(descriptor.uuid)
        return self._groups[group]

    def _descriptor(self, parent: int | None, name: str | None) -> Any:  # noqa: ANN401 - generated
        self._tracks += 1
        descriptor = self._packet().track_descriptor
        descriptor.uuid = self._tracks
        if parent is not None:
            descriptor.parent_uuid = parent
        if name is not None:
            descriptor.name = visible(name)
        return descriptor

    def _began(
        self,
        track: int,
        name: str,
        start_ns: int,
        kind: str,
        arguments: Mapping[str, Value],
    ) -> Any:  # noqa: ANN401 - generated
        packet = self._packet()
        packet.timestamp = start_ns - self._origin_ns
        packet.sequence_flags = _NEEDS
        event = packet.track_event
        event.track_uuid = track
        event.name_iid = self._interned(packet, self._names, "event_names", name)
        event.category_iids.append(
            self._interned(packet, self._kinds, "event_categories", kind)
        )
        for key, value in arguments.items():
            note = event.debug_annotations.add()
            note.name_iid = self._interned(
                packet, self._keys, "debug_annotation_names", key
            )
            if isinstance(value, bool):
                note.bool_value = value
            elif isinstance(value, int):
                note.int_value = value
            elif isinstance(value, float):
                note.double_value = value
            else:
                note.string_value = visible(value)
        return event

    @staticmethod
    def _interned(packet: Any, known: dict[str, int], field: str, text: str) -> int:  # noqa: ANN401 - generated
        number = known.get(text)
        if number is None:
            number = known[text] = len(known) + 1
            entry = getattr(packet.interned_data, field).add()
            entry.iid = number
            entry.name = visible(text)
        return number

    def _packet(self) -> Any:  # noqa: ANN401 - generated
        if len(self._trace.packet) >= _PACKETS:
            self._flush()
        packet = self._trace.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet

    def _flush(self) -> None:
        # A trace is a list of packets: parts of it stand one behind the other.
        self._target.write(self._trace.SerializeToString())
        self._trace.Clear()
