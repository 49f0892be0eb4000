"""rocpd databases of both versions, made from the documented schema."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

UUID = "_0000abcd_0192_7000_8000_0123456789ab"

_INFO = {
    "metadata": "tag value",
    "string": "id string",
    "info_node": "id hash machine_id hostname",
    "info_process": "id nid pid name command environment",
    "info_thread": "id nid pid tid name",
    "info_agent": "id nid pid type absolute_index uuid name product_name extdata",
    "info_pmc": "id nid pid agent_id name symbol units",
    "info_kernel_symbol": "id nid pid kernel_name display_name arch_vgpr_count",
    "pmc_event": "id event_id pmc_id value",
    "arg": "id event_id position type name value",
}
_SHAPE = (
    "private_segment_size group_segment_size workgroup_size_x workgroup_size_y"
    " workgroup_size_z grid_size_x grid_size_y grid_size_z"
)
VERSIONS: Mapping[int, Mapping[str, str]] = {
    3: {
        **_INFO,
        "track": "id nid pid tid name_id",
        "event": "id category_id stack_id correlation_id extdata",
        "region": "id nid pid tid start end name_id event_id",
        "sample": "id track_id timestamp event_id",
        "kernel_dispatch": "id nid pid tid agent_id kernel_id dispatch_id queue_id"
        f" stream_id start end {_SHAPE} region_name_id event_id",
        "memory_copy": "id nid pid tid start end name_id dst_agent_id src_agent_id size"
        " queue_id stream_id event_id",
        "memory_allocate": "id nid pid tid agent_id type level start end address size"
        " queue_id stream_id event_id",
    },
    4: {
        **_INFO,
        "info_category": "id name",
        "timestamp": "id value phase track_id",
        "track": "id nid pid tid agent_id queue_id stream_id name_id",
        "event": "id category_id stack_id correlation_id extdata",
        "region": "id track_id name_id start_id end_id event_id",
        "sample": "id track_id name_id timestamp_id event_id",
        "kernel_dispatch": "id track_id kernel_id dispatch_id start_id end_id"
        f" {_SHAPE} region_name_id event_id",
        "memory_copy": "id track_id name_id start_id end_id dst_agent_id src_agent_id"
        " size event_id",
        "memory_allocate": "id track_id type level start_id end_id name_id address size"
        " event_id",
        "graph_launch": "id track_id start_id end_id",
    },
}

Rows = Mapping[str, Sequence[Mapping[str, object]]]


def database(
    path: Path,
    version: int,
    rows: Rows,
    *,
    uuid: str = UUID,
    without: Sequence[str] = (),
) -> Path:
    """Write a database, or add the tables of a further file to it.

    Args:
        path: The file.
        version: 3 or 4.
        rows: Cells by table, named without `rocpd_`; those not given are NULL.
        uuid: What the names of its tables end in.
        without: Tables that it lacks.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, text in VERSIONS[version].items():
            if table in without:
                continue
            columns = text.split()
            names = ", ".join(f'"{column}"' for column in columns)
            connection.execute(f"CREATE TABLE `rocpd_{table}{uuid}` ({names})")
            if not uuid.startswith("_f"):
                connection.execute(
                    f"CREATE VIEW `rocpd_{table}` AS SELECT * FROM"
                    f" `rocpd_{table}{uuid}`"
                )
            for row in rows.get(table, ()):
                assert row.keys() <= set(columns), (table, row)
                marks = ", ".join("?" * len(columns))
                connection.execute(
                    f"INSERT INTO `rocpd_{table}{uuid}` VALUES ({marks})",
                    [row.get(column) for column in columns],
                )
    return path


def as_version_4(rows: Rows) -> Rows:
    """Return rows of version 3 as version 4 keeps them: times and places apart."""
    times: list[dict[str, object]] = []
    tracks: dict[tuple[object, ...], int] = {}
    place = ("nid", "pid", "tid", "agent_id", "queue_id", "stream_id")

    def time(value: object) -> int:
        # The largest id first: rows are found by id, not by position.
        times.insert(0, {"id": len(times) + 1, "value": value})
        return len(times)

    found: dict[str, Sequence[Mapping[str, object]]] = dict(rows)
    for table in ("region", "kernel_dispatch", "memory_copy", "memory_allocate"):
        moved = []
        for row in rows.get(table, ()):
            key = tuple(row.get(name) for name in place)
            track = tracks.setdefault(key, len(tracks) + 100)
            rest = {
                name: value
                for name, value in row.items()
                if name not in (*place, "start", "end")
            }
            ends = {"start_id": time(row["start"]), "end_id": time(row["end"])}
            moved.append({**rest, **ends, "track_id": track})
        found[table] = moved
    found["sample"] = [
        {
            **{n: v for n, v in row.items() if n != "timestamp"},
            "timestamp_id": time(row["timestamp"]),
        }
        for row in rows.get("sample", ())
    ]
    found["track"] = [
        *rows.get("track", ()),
        *(
            {"id": number, **dict(zip(place, key, strict=True))}
            for key, number in tracks.items()
        ),
    ]
    found["timestamp"] = times
    strings = {row["id"]: row["string"] for row in rows["string"]}
    categories = sorted({str(row.get("category_id")) for row in rows.get("event", ())})
    found["info_category"] = [
        {"id": number, "name": strings.get(int(text))}
        for number, text in enumerate(categories, start=1)
        if text != "None"
    ]
    found["event"] = [
        {
            **row,
            "category_id": None
            if row.get("category_id") is None
            else categories.index(str(row["category_id"])) + 1,
        }
        for row in rows.get("event", ())
    ]
    return found
