"""Which tables of a run become slices of a trace, and on which tracks."""

from dataclasses import dataclass, field
from enum import Enum

from tracekit.schema import HOST_RANK, TABLES


class Place(Enum):
    """What the tracks of a table stand under."""

    THREAD = "thread"
    STREAM = "stream"
    CORE = "core"


@dataclass(frozen=True)
class Drawn:
    """A table whose rows are slices.

    Attributes:
        table: Its name.
        title: What its tracks are called.
        place: What they stand under.
        name: SQL of the name of a slice.
        arguments: SQL of what else is shown of it, by what it is called.
        nests: Whether rows of one thread or stream nest; others that overlap stand in
            lanes of their own.
    """

    table: str
    title: str
    place: Place
    name: str
    arguments: dict[str, str] = field(default_factory=dict)
    nests: bool = True


_GPU = {"correlation_id": "correlation_id"}
_LAUNCH = (
    "CASE WHEN grid_x IS NOT NULL THEN concat_ws(' x ', grid_x, grid_y, grid_z) END"
)
_BLOCK = (
    "CASE WHEN block_x IS NOT NULL THEN concat_ws(' x ', block_x, block_y, block_z) END"
)

DRAWN: tuple[Drawn, ...] = (
    Drawn("step", "steps", Place.THREAD, "coalesce(name, 'step ' || step_index)"),
    Drawn(
        "annotation",
        "ranges",
        Place.THREAD,
        "coalesce(text, kind)",
        {"domain": "domain", "category": "category", "payload": "payload"},
    ),
    Drawn("module", "modules", Place.THREAD, "name", {"phase": "phase"}),
    Drawn("python_function", "Python", Place.THREAD, "name"),
    Drawn(
        "operator",
        "operators",
        Place.THREAD,
        "name",
        {"input_shapes": "input_shapes", "input_types": "input_types"},
    ),
    Drawn(
        "api_call",
        "API calls",
        Place.THREAD,
        "name",
        {
            "domain": "domain",
            "correlation_id": "correlation_id",
            "return_value": "return_value",
        },
    ),
    Drawn(
        "library_call",
        "library calls",
        Place.THREAD,
        "name",
        {"library": "library", "bytes": "bytes"},
    ),
    Drawn("os_call", "OS calls", Place.THREAD, "name"),
    Drawn("overhead", "profiler", Place.THREAD, "kind"),
    Drawn(
        "kernel",
        "kernels",
        Place.STREAM,
        "name",
        {
            **_GPU,
            "grid": _LAUNCH,
            "block": _BLOCK,
            "registers_per_thread": "registers_per_thread",
            "graph_node_id": "graph_node_id",
        },
        nests=False,
    ),
    Drawn(
        "memcpy",
        "copies",
        Place.STREAM,
        "'Memcpy ' || coalesce(copy_kind, '')",
        {**_GPU, "bytes": "bytes"},
        nests=False,
    ),
    Drawn(
        "memset",
        "copies",
        Place.STREAM,
        "'Memset'",
        {**_GPU, "bytes": "bytes"},
        nests=False,
    ),
    Drawn(
        "graph_launch",
        "kernels",
        Place.STREAM,
        "'graph ' || coalesce(graph_id::VARCHAR, '')",
        _GPU,
        nests=False,
    ),
    Drawn("sync", "synchronization", Place.STREAM, "coalesce(kind, 'wait')", _GPU),
    Drawn(
        "collective",
        "collectives",
        Place.STREAM,
        "coalesce(operation, 'collective')",
        {
            "communicator": "communicator",
            "bytes": "bytes",
            "data_type": "data_type",
            "group_size": "group_size",
            "sequence": "sequence",
        },
        nests=False,
    ),
    Drawn(
        "memory_segment",
        "reserved memory",
        Place.STREAM,
        "coalesce(allocator, 'reserved')",
        {"bytes": "bytes"},
        nests=False,
    ),
    Drawn(
        "cpu_slice",
        "running",
        Place.CORE,
        "'thread ' || coalesce(thread_id::VARCHAR, '')",
        {"end_state": "end_state"},
        nests=False,
    ),
)
"""In the order in which a thread or a GPU shows them."""

LAUNCHED = frozenset({"kernel", "memcpy", "memset", "graph_launch"})
"""Tables whose rows an API call of the same correlation id launched."""


def statement(drawn: Drawn) -> str:
    """Return the SELECT of a table's slices, in the order in which they are drawn.

    Its columns are rank, process_id, thread_id, device_id, stream_id, cpu, start_ns,
    end_ns, slice_name, is_instant, domain, correlation_id and one for each argument;
    those that the table does not have are NULL.
    """
    have = TABLES[drawn.table].column_names

    def column(name: str, kind: str) -> str:
        known = name in have
        return f"{name if known else f'NULL::{kind}'} AS {name}"

    instant = "kind = 'mark'" if drawn.table == "annotation" else "false"
    columns = [
        "rank",
        column("process_id", "INTEGER"),
        column("thread_id", "INTEGER"),
        column("device_id", "INTEGER"),
        column("stream_id", "BIGINT"),
        column("cpu", "INTEGER"),
        "start_ns",
        "end_ns",
        f"{drawn.name} AS slice_name",
        f"{instant} AS is_instant",
        column("domain", "VARCHAR"),
        column("correlation_id", "BIGINT"),
        *(f"{sql} AS argument_{name}" for name, sql in drawn.arguments.items()),
    ]
    return (
        f"SELECT {', '.join(columns)} FROM {drawn.table}"
        f" WHERE rank >= {HOST_RANK} AND start_ns IS NOT NULL"
        " ORDER BY rank, process_id, device_id, stream_id, thread_id, cpu, start_ns,"
        " end_ns DESC, slice_name"
    )
