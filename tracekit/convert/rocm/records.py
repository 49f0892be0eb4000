"""The records of rocprofv3's JSON, as far as they are read.

Lists of records stay raw, so that a damaged record costs itself and no other.
"""

from typing import Any

import msgspec

Raw = list[msgspec.Raw]


class Handle(msgspec.Struct):
    """An id behind which the tool keeps an object."""

    handle: int = 0


class Size(msgspec.Struct):
    """A size in three dimensions, in threads."""

    x: int = 0
    y: int = 0
    z: int = 0


class Correlation(msgspec.Struct):
    """Ids that tie a record to the call that caused it."""

    internal: int = 0


class Dispatch(msgspec.Struct):
    """What was dispatched."""

    agent_id: Handle
    kernel_id: int
    workgroup_size: Size
    grid_size: Size
    dispatch_id: int = 0
    private_segment_size: int | None = None
    group_segment_size: int | None = None


class Record(msgspec.Struct):
    """A span of any kind."""

    start_timestamp: int
    end_timestamp: int
    kind: int = 0
    operation: int = 0
    thread_id: int = 0
    correlation_id: Correlation | None = None
    dispatch_info: Dispatch | None = None
    stream_id: Handle | None = None
    agent_id: Handle | None = None
    dst_agent_id: Handle | None = None
    src_agent_id: Handle | None = None
    bytes: int | None = None
    allocation_size: int | None = None
    address: int | str | Handle | None = None


class Counter(msgspec.Struct):
    """A counter's value in one of its instances."""

    counter_id: Handle
    value: float


class Collection(msgspec.Struct):
    """The counters of one dispatch."""

    dispatch_data: Record
    records: list[Counter] = []
    thread_id: int = 0


class Symbol(msgspec.Struct):
    """A kernel that was loaded."""

    kernel_id: int
    kernel_name: str | None = None
    formatted_kernel_name: str | None = None
    demangled_kernel_name: str | None = None
    arch_vgpr_count: int | None = None


class CounterInfo(msgspec.Struct):
    """What a counter counts."""

    id: Handle
    name: str


class Operations(msgspec.Struct):
    """The names of the operations of a kind of record."""

    kind: str = ""
    operations: list[str] = []


class Message(msgspec.Struct):
    """The text of a marker, by correlation id."""

    key: int
    value: str


class Strings(msgspec.Struct):
    """Names that records refer to by number."""

    buffer_records: list[Operations] = []
    marker_api: Raw = []


class Node(msgspec.Struct):
    """The machine."""

    hostname: str | None = None


class Metadata(msgspec.Struct):
    """What was run, and where."""

    pid: int = 0
    command: list[str] | str = []
    node: Node = msgspec.field(default_factory=Node)


class Process(msgspec.Struct):
    """What the tool saw of one process."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    agents: list[dict[str, Any]] = []
    counters: Raw = []
    strings: Strings = msgspec.field(default_factory=Strings)
    kernel_symbols: Raw = []
    buffer_records: dict[str, Raw] = {}
    callback_records: dict[str, Raw] = {}


class File(msgspec.Struct):
    """The whole file."""

    processes: list[Process] = msgspec.field(name="rocprofiler-sdk-tool")
