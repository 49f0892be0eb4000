"""From which schema version on an export can fill a field of the made-up capture."""

from collections.abc import Mapping, Sequence

from tests.support.nsys_answers import ANSWERS, Row
from tests.support.nsys_schemas import is_at_least

# From which version on a field is filled.
SINCE: Mapping[tuple[str, str], str] = {
    ("device", "uuid"): "2021",
    ("device", "chip"): "2.9.1",
    ("process", "name"): "2.9.1",
    ("context", "is_green"): "3.13.2",
    ("stream", "name"): "3.0.0",
    ("kernel", "green_context_id"): "3.13.2",
    ("kernel", "graph_id"): "3.24.0",
    ("kernel", "graph_node_id"): "2020",
    ("kernel", "mangled_name"): "2.9.1",
    ("kernel", "cluster_x"): "3.24.0",
    ("kernel", "cluster_y"): "3.24.0",
    ("kernel", "cluster_z"): "3.24.0",
    ("kernel", "executed_shared_bytes"): "2020",
    ("kernel", "launch_type"): "2020",
    ("memcpy", "green_context_id"): "3.13.2",
    ("memcpy", "source_device_id"): "2020",
    ("memcpy", "destination_device_id"): "2020",
    ("memcpy", "migration_cause"): "2021",
    ("memcpy", "copy_count"): "3.24.0",
    ("memset", "green_context_id"): "3.25.0",
    ("memset", "memory_kind"): "2020",
    ("graph_launch", "green_context_id"): "3.13.2",
    ("sync", "green_context_id"): "3.13.2",
    ("sync", "event_sync_id"): "3.24.0",
    ("cuda_event", "green_context_id"): "3.16.1",
    ("cuda_event", "event_sync_id"): "3.24.0",
    ("cuda_event", "time_ns"): "3.24.0",
    ("api_call", "domain"): "2020",
    ("api_call", "call_stack_id"): "2021",
    ("memory_event", "stream_id"): "3.4.0",
    ("os_call", "nesting_level"): "2020",
    ("cpu_slice", "end_state"): "3.13.2",
}

# From which version on there are rows, or the rows of a kind.
_ROWS_SINCE: Mapping[str, str] = {
    "context": "2020",
    "stream": "2020",
    "graph_launch": "2.9.1",
    "rejected": "2.9.1",
    "sync": "2020",
    "cuda_event": "2020",
    "memory_event": "2.9.1",
    "diagnostic": "3.13.2",
}
_KIND_SINCE: Sequence[tuple[str, str, object, str]] = (
    ("memcpy", "copy_kind", "decompress", "3.30.1"),
    ("library_call", "library", "cudnn", "2020"),
    ("library_call", "library", "cublas", "2020"),
    ("library_call", "library", "mpi", "3.0.0"),
    ("counter_sample", "source", "gpu", "2021"),
    ("counter_sample", "source", "nic", "3.0.0"),
    ("call_stack", "call_stack_id", 4, "2021"),
    ("overhead", "start_ns", 60, "2020"),
    ("overhead", "start_ns", 100, "3.24.0"),
    ("overhead", "start_ns", 200, "3.30.1"),
)


def answers(release: str) -> dict[str, list[Row]]:
    """Return the rows of the run that an export of `release` gives."""
    found: dict[str, list[Row]] = {}
    for table, rows in ANSWERS.items():
        if not is_at_least(release, _ROWS_SINCE.get(table, "2019")):
            continue
        kept = [
            {
                name: cell
                for name, cell in row.items()
                if is_at_least(release, SINCE.get((table, name), "2019"))
            }
            for row in rows
            if _is_there(release, table, row)
        ]
        if kept:
            found[table] = kept
    return found


def _is_there(release: str, table: str, row: Row) -> bool:
    return all(
        is_at_least(release, since)
        for name, column, value, since in _KIND_SINCE
        if name == table and row.get(column) == value
    )
